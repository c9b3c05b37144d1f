"""Running an attack: interruption and resumption, hosts that misbehave, random noise."""

import json

import numpy as np
import pytest
from sklearn.metrics import log_loss

from tacit.data import titanic
from tacit.privacy.errors import InvalidInput
from tacit.scores.attacks import (
    AttackStopped,
    DigitDesign,
    GaussianAnswerNoise,
    HadamardDesign,
    LaplaceAnswerNoise,
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
    for text in ("", "{}", '{"version": 1, "plan": "x", "answers": ["y"]}', "[1]"):
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


@pytest.mark.parametrize(
    ("noise", "draw"),
    [
        (GaussianAnswerNoise(scale=1e-3), lambda rng: rng.normal(0, 1e-3)),
        (GaussianAnswerNoise(scale=0.3), lambda rng: rng.normal(0, 0.3)),
        (LaplaceAnswerNoise(scale=1e-3), lambda rng: rng.laplace(0, 1e-3)),
        (LaplaceAnswerNoise(scale=0.1), lambda rng: rng.laplace(0, 0.1)),
    ],
)
def test_random_noise(noise, draw):
    rng = np.random.default_rng(0)
    truth = TRUTH[:120]
    planned = plan_attack(LOSS, rows=120, policy=noise)
    outcome = infer_labels(lambda p: log_loss(truth, p) + draw(rng), planned)
    np.testing.assert_array_equal(outcome.labels, truth)
    assert outcome.queries == planned.queries
    assert planned.design.failure <= noise.failure


def test_strong_noise_asks_for_all_rows_at_once():
    assert isinstance(plan_attack(LOSS, rows=120, policy=GaussianAnswerNoise(scale=1.0)).design, HadamardDesign)


def test_more_random_noise_than_planned_gives_wrong_labels():
    """The control: the same plan at 30 times the noise."""
    rng = np.random.default_rng(0)
    truth = TRUTH[:120]
    planned = plan_attack(LOSS, rows=120, policy=GaussianAnswerNoise(scale=0.3))
    outcome = infer_labels(lambda p: log_loss(truth, p) + rng.normal(0, 9.0), planned)
    assert 5 < (outcome.labels != truth).sum() < 115


def test_random_noise_on_three_classes_and_on_accuracy():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 60)
    loss = LogLoss(classes=3, floor=SKLEARN_FLOOR)
    planned = plan_attack(loss, rows=60, policy=LaplaceAnswerNoise(scale=0.1))
    outcome = infer_labels(lambda p: loss.score(truth, p) + rng.laplace(0, 0.1), planned)
    np.testing.assert_array_equal(outcome.labels, truth)
    metric = Accuracy()
    planned = plan_attack(metric, rows=120, policy=GaussianAnswerNoise(scale=3e-3))
    assert planned.design.repeats > 1
    host = lambda p: metric.score(TRUTH[:120], p) + rng.normal(0, 3e-3)  # noqa: E731
    np.testing.assert_array_equal(infer_labels(host, planned).labels, TRUTH[:120])


@pytest.mark.parametrize("noise", [GaussianAnswerNoise(scale=2.0), LaplaceAnswerNoise(scale=2.0)])
def test_tails_hold_and_repeats_are_the_least(noise):
    rng = np.random.default_rng(0)
    draw = rng.normal if isinstance(noise, GaussianAnswerNoise) else rng.laplace
    for repeats in (1, 4, 30):
        means = np.abs(draw(0, 2.0, size=(200_000, repeats)).mean(axis=1))
        for bound in (0.5, 1.0, 3.0):
            seen = (means >= bound).mean()
            assert seen <= noise.tail(bound, repeats=repeats) + 6 * np.sqrt(0.25 / 200_000)
    # A scale that is 30% too small must be caught by the same test.
    small = type(noise)(scale=1.4)
    assert (np.abs(draw(0, 2.0, size=200_000)) >= 1.0).mean() > small.tail(1.0, repeats=1) + 0.01
    for failure in (1e-2, 1e-6):
        repeats = noise.repeats(0.5, failure=failure)
        assert noise.tail(0.5, repeats=repeats) <= failure * (1 + 1e-9)
        assert noise.tail(0.5, repeats=repeats - 1) > failure
