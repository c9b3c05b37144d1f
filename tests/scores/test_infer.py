"""Running an attack: interruption and resumption, hosts that misbehave."""

import json

import numpy as np
import pytest
from sklearn.metrics import log_loss

from tacit.data import titanic
from tacit.privacy.errors import InvalidInput
from tacit.scores.attacks import (
    AttackStopped,
    DigitDesign,
    infer_labels,
    plan_attack,
)
from tacit.scores.losses import ClippedCrossEntropy, LossReduction, MachineEpsilon
from tacit.scores.metrics import SKLEARN_FLOOR, Accuracy, LogLoss, UnboundedLoss
from tacit.scores.policies import Bounded, Exact, Rounded

LOSS = LogLoss(floor=SKLEARN_FLOOR)
TRUTH = np.random.default_rng(0).permutation(titanic().codes)[:300]


class Host:
    """A host that counts, and misbehaves from some query on."""

    def __init__(self, truth=TRUTH, *, decimals=None, fails_at=None, failure=None):
        self.truth, self.decimals, self.fails_at, self.failure = truth, decimals, fails_at, failure
        self.queries = 0

    def __call__(self, predictions):
        self.queries += 1
        if self.fails_at is not None and self.queries >= self.fails_at:
            return self.failure()
        score = log_loss(self.truth, predictions)
        return score if self.decimals is None else round(score, self.decimals)


def shout():
    raise ConnectionResetError("connection reset by peer")


@pytest.mark.parametrize("answers", [Exact(), Rounded(decimals=5)])
def test_resumes_after_an_interruption(answers, tmp_path):
    decimals = getattr(answers, "decimals", None)
    planned = plan_attack(LOSS, rows=300, policy=answers)
    state = tmp_path / "state.json"
    broken = Host(decimals=decimals, fails_at=4, failure=shout)
    with pytest.raises(AttackStopped, match=r"at query 4: the host failed with ConnectionResetError") as caught:
        infer_labels(broken, planned, state=state)
    known = caught.value.outcome.labels
    np.testing.assert_array_equal(known[known >= 0], TRUTH[known >= 0])
    whole = Host(decimals=decimals)
    outcome = infer_labels(whole, planned, state=state)
    np.testing.assert_array_equal(outcome.labels, TRUTH)
    assert whole.queries == planned.queries - 3
    assert outcome.queries == planned.queries
    again = Host(fails_at=1, failure=shout)
    np.testing.assert_array_equal(infer_labels(again, planned, state=state).labels, TRUTH)
    assert again.queries == 0


def test_a_killed_attack_leaves_a_whole_state_file(tmp_path):
    """Ctrl-C in the middle of a query: what was recovered before is in the file."""

    def interrupt():
        raise KeyboardInterrupt

    planned = plan_attack(LOSS, rows=300)
    state = tmp_path / "state.json"
    with pytest.raises(KeyboardInterrupt):
        infer_labels(Host(fails_at=3, failure=interrupt), planned, state=state)
    document = json.loads(state.read_text())
    assert len(document["answers"]) == 2
    labels = np.array(document["labels"])
    assert (labels >= 0).sum() == sum(planned.design.lengths[:2])
    np.testing.assert_array_equal(labels[labels >= 0], TRUTH[labels >= 0])
    assert set(document) == {"version", "plan", "answers", "labels"}
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]


def test_a_state_file_of_something_else_is_refused(tmp_path):
    state = tmp_path / "state.json"
    planned = plan_attack(LOSS, rows=300)
    infer_labels(Host(), planned, state=state)
    with pytest.raises(InvalidInput, match="another host, plan or order"):
        infer_labels(Host(), plan_attack(LOSS, rows=300, policy=Rounded(decimals=5)), state=state)
    state.write_text("")
    assert infer_labels(Host(), planned, state=state).queries, "an empty file is a fresh start"
    for text in ("{", "{}", '{"version": 1, "plan": "x", "answers": ["y"]}', "[1]"):
        state.write_text(text)
        with pytest.raises(InvalidInput, match="damaged"):
            infer_labels(Host(), planned, state=state)
    state.write_text('{"version": 2, "plan": "x", "answers": []}')
    with pytest.raises(InvalidInput, match="version"):
        infer_labels(Host(), planned, state=state)


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (lambda: "thanks for your submission", "answered 'thanks for your submission' instead of a number"),
        (lambda: None, "answered 'None' instead of a number"),
        (lambda: float("nan"), "instead of a finite number"),
        (lambda: float("inf"), "instead of a finite number"),
        (lambda: -5.0, "no labels give this score"),
        (lambda: 1e6, "no labels give this score"),
        (shout, "ConnectionResetError"),
    ],
)
def test_a_host_that_misbehaves_stops_the_attack_with_what_is_left(failure, words):
    planned = plan_attack(LOSS, rows=300)
    done = sum(planned.design.lengths[:2])
    with pytest.raises(AttackStopped, match=words) as caught:
        infer_labels(Host(fails_at=3, failure=failure), planned)
    assert f"{done} of 300 labels recovered, {300 - done} left" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.outcome.recovered == done


@pytest.mark.parametrize("answers", [Exact(), Rounded(decimals=5), Bounded(tau=1e-4)])
@pytest.mark.parametrize("design", [DigitDesign, None])
@pytest.mark.parametrize("constant", [0.0, 0.5, np.log(2), 0.7, 3.0])
def test_a_constant_host_is_found_out(answers, design, constant):
    planned = plan_attack(LOSS, rows=300, policy=answers, design=design)
    with pytest.raises(AttackStopped, match=r"to every query|no labels give"):
        infer_labels(lambda _: constant, planned)


@pytest.mark.parametrize("constant", [0.0, 0.5, 0.66, 1.0])
def test_a_constant_accuracy_is_found_out(constant):
    with pytest.raises(AttackStopped, match=r"to every query|no labels give"):
        infer_labels(lambda _: constant, plan_attack(Accuracy(), rows=300))


def test_progress_is_told():
    told = []
    outcome = infer_labels(Host(), plan_attack(LOSS, rows=300), progress=told.append)
    assert [now.queries for now in told] == list(range(outcome.queries))
    assert [now.recovered for now in told] == sorted(now.recovered for now in told)
    assert told[-1].planned == outcome.queries


def test_order_is_checked():
    with pytest.raises(InvalidInput, match="order must have every row"):
        infer_labels(Host(), plan_attack(LOSS, rows=300), order=np.zeros(300, dtype=int))


def test_rows_may_be_asked_in_any_order():
    order = np.random.default_rng(1).permutation(300)
    for answers, decimals in ((Exact(), None), (Rounded(decimals=4), 4)):
        planned = plan_attack(LOSS, rows=300, policy=answers)
        outcome = infer_labels(Host(decimals=decimals), planned, order=order)
        np.testing.assert_array_equal(outcome.labels, TRUTH)


def test_labels_sorted_by_class_do_not_mislead():
    for answers, decimals in ((Exact(), None), (Rounded(decimals=5), 5)):
        planned = plan_attack(LOSS, rows=300, policy=answers)
        outcome = infer_labels(Host(np.sort(TRUTH), decimals=decimals), planned)
        np.testing.assert_array_equal(outcome.labels, np.sort(TRUTH))


def test_the_leak_of_an_outcome():
    leak = infer_labels(Host(), plan_attack(LOSS, rows=300)).leak(TRUTH)
    assert leak.rate == 1
    assert leak.baseline == np.bincount(TRUTH).max() / 300
    rival = infer_labels(Host(), plan_attack(LOSS, rows=300)).leak(TRUTH, baseline=np.zeros(300, dtype=int))
    assert rival.advantage == pytest.approx(TRUTH.mean())


def test_a_sum_instead_of_a_mean():
    metric = UnboundedLoss(loss=ClippedCrossEntropy(clip=MachineEpsilon(), reduction=LossReduction.SUM))
    for answers, decimals in ((Exact(), 15), (Rounded(decimals=2), 2)):
        planned = plan_attack(metric, rows=300, policy=answers)
        outcome = infer_labels(lambda p, d=decimals: round(log_loss(TRUTH, p, normalize=False), d), planned)
        np.testing.assert_array_equal(outcome.labels, TRUTH)
