import itertools
import json
import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import kstest, laplace

from tacit.privacy import BudgetExceeded, Guarantee, InvalidInput, NoGuarantee
from tacit.privacy.noise import DiscreteLaplace
from tacit.privacy.rounding import exact, round_up
from tacit.scores.metrics import F1, Accuracy, Auc, Brier, CustomMetric, LogLoss, Mae, Rmse
from tacit.scores.policies import Bounded, Exact, Ladder, Laplace, Rounded, Thresholdout
from tacit.scores.policies import laplace as module
from tacit.scores.policies.holdout import ReusableHoldout

EVERY = [
    Exact(),
    Rounded(decimals=4),
    Bounded(tau=0.01),
    Ladder(step=0.02),
    Laplace(epsilon=0.3),
    Thresholdout(epsilon=0.5, refreshes=3),
]


def output_distribution(policy, metric, labels, predictions, monkeypatch, *, noise=None):
    """Return P(answer) by letting the noise take each of its values: grid, caps and printing included."""
    drawn = {}

    def draw(self, size, *, rng):
        drawn["noise"] = self
        return np.full(size, drawn["k"], dtype=np.int64)

    monkeypatch.setattr(DiscreteLaplace, "draw", draw)
    measured = metric.measure(labels, predictions)
    drawn["k"] = 0
    policy.release(measured, state={}, rng=np.random.default_rng(0))
    noise = noise or drawn["noise"]
    reach = math.ceil(40 * float(noise.scale))
    masses = {}
    for k, mass in zip(range(-reach, reach + 1), noise.pmf(np.arange(-reach, reach + 1)), strict=True):
        drawn["k"] = k
        text = policy.release(measured, state={}, rng=np.random.default_rng(0)).text
        masses[text] = masses.get(text, 0.0) + mass
    return masses, noise


def max_log_ratio(distributions):
    """Over all pairs of neighbors and all answers that are not lost in the cut tails."""
    worst = 0.0
    for one, other in distributions:
        for answer in set(one) | set(other):
            p, q = one.get(answer, 0.0), other.get(answer, 0.0)
            if max(p, q) > 1e-8:
                worst = max(worst, math.inf if min(p, q) == 0 else abs(math.log(p / q)))
    return worst


def neighbors(rows, classes):
    for y in itertools.product(range(classes), repeat=rows):
        for row, label in itertools.product(range(rows), range(classes)):
            if label > y[row]:
                yield y, (*y[:row], label, *y[row + 1 :])


CASES = [
    (Accuracy(), [0, 1], 1.0),
    (Brier(), [0.0, 0.25], 0.5),
    (LogLoss(floor=0.1), [0.0, 0.6], 1.0),
    (Mae(), [1.0, 0.125], 2.0),
    (Rmse(), [1.0, 0.5], 1.0),
    (Accuracy(classes=3), [0, 2], 3.0),
]


@pytest.mark.parametrize(("metric", "predictions", "epsilon"), CASES, ids=lambda case: getattr(case, "name", None))
def test_laplace_keeps_its_epsilon_by_enumeration(metric, predictions, epsilon, monkeypatch):
    """Every output of every pair of neighboring label vectors; a coarse grid keeps the noise small enough to list."""
    monkeypatch.setattr(module, "_STEP", Fraction(1, 2))
    policy, classes = Laplace(epsilon=epsilon), metric.classes or 2
    seen, noise = {}, None
    for y in itertools.product(range(classes), repeat=2):
        seen[y], noise = output_distribution(policy, metric, y, predictions, monkeypatch)
    worst = max_log_ratio((seen[a], seen[b]) for a, b in neighbors(2, classes))
    assert worst <= epsilon + 1e-9
    if predictions[0] in (0, 0.0, 1.0):  # a row with the full range: the bound is attained
        assert worst == pytest.approx(epsilon, abs=1e-6)
    halved = DiscreteLaplace(scale=noise.scale / 2)
    for y in seen:
        seen[y], _ = output_distribution(policy, metric, y, predictions, monkeypatch, noise=halved)
    assert max_log_ratio((seen[a], seen[b]) for a, b in neighbors(2, classes)) > epsilon * 1.5, (
        "control: half the scale"
    )


@pytest.mark.parametrize(
    ("metric", "predictions"),
    [
        (Auc(class_floor=2), [0.1, 0.5, 0.5, 0.9, 0.2]),
        (F1(class_floor=1), [1, 0, 0, 0, 0]),
        (F1(classes=3, class_floor=1), [0, 1, 2, 0, 1]),
    ],
)
def test_laplace_on_whole_scores_moves_no_further_than_its_noise_covers(metric, predictions, monkeypatch):
    """The noise is too fine to list: its center, in steps, must move by at most epsilon times its scale."""
    policy = Laplace(epsilon=1.0)
    noise, grid = policy._whole_noise(metric, rows=5)
    center = {
        y: int(grid.snap(metric.measure(y, predictions).terms)[0])
        for y in itertools.product(range(metric.classes), repeat=5)
    }
    moved = max(abs(center[a] - center[b]) for a, b in neighbors(5, metric.classes))
    assert moved <= noise.scale * 1.0
    assert moved > noise.scale * 0.5, "control: half the scale would not cover it"


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_laplace_noise_has_the_stated_scale(epsilon):
    measured = Accuracy().measure(np.zeros(1000, dtype=int), np.arange(1000) < 500)
    rng = np.random.default_rng(0)
    scale = Laplace(epsilon=epsilon).scale(Accuracy(), rows=1000)
    noise = [Laplace(epsilon=epsilon).release(measured, state={}, rng=rng).released - 0.5 for _ in range(1000)]
    assert kstest(noise, laplace(scale=scale).cdf).pvalue > 1e-6
    assert kstest(noise, laplace(scale=0.5 * scale).cdf).pvalue < 1e-6, "control: another scale is rejected"


def test_released_scores_stay_in_the_public_range():
    rng = np.random.default_rng(0)
    for metric in (LogLoss(), Accuracy(), Rmse()):
        low, high = metric.bounds
        for _ in range(50):
            released = Laplace(epsilon=0.1).release(metric.measure([0, 1], [0, 1]), state={}, rng=rng).released
            assert low * (1 - 1e-5) <= released <= high * (1 + 1e-5)


def test_metrics_without_a_bound_are_refused():
    own = CustomMetric(function=lambda y, p: 0.5, metric="mine", lower=0, upper=1, lower_is_better=True)
    for metric, reason in ((Auc(), "class_floor"), (F1(), "class_floor"), (own, "one_label")):
        with pytest.raises(InvalidInput, match=reason):
            Laplace().check(metric, rows=10)
        with pytest.raises(InvalidInput, match=reason):
            Laplace().release(metric.measure([0, 1], [0, 1]), state={}, rng=np.random.default_rng(0))
        with pytest.raises(InvalidInput, match="a mean over rows"):
            Thresholdout().check(metric, rows=10)
    with pytest.raises(InvalidInput, match="at most rows/2"):
        Rounded().check(Auc(class_floor=8), rows=10)


def naive_ladder(losses, step):
    """Blum and Hardt's Figure 1, in their words."""
    best, shown = math.inf, []
    for loss in losses:
        if loss < best - step:
            best = round(loss / step) * step
        shown.append(best)
    return shown


def test_the_ladder_is_the_papers():
    rng = np.random.default_rng(0)
    for step in (0.01, 0.05, 0.125):
        state, shown, losses = {}, [], []
        for t in range(60):
            labels, predictions = rng.integers(0, 2, 97), rng.random(97)
            blur = rng.uniform(0.2, 1.0) * (6 - t / 10)
            measured = Brier().measure(labels, np.clip(labels + blur * (predictions - 0.5), 0, 1))
            answer = Ladder(step=step).release(measured, state=state, rng=rng)
            state = json.loads(json.dumps(answer.state))
            shown.append(answer.released)
            losses.append(measured.exact)
        assert shown == pytest.approx(naive_ladder(losses, step), abs=1e-9)
        assert len(set(shown)) > 1


def test_the_ladder_never_tells_of_a_worse_score_and_knows_up_from_down():
    rng, state = np.random.default_rng(0), {}
    labels = np.zeros(100, dtype=int)
    for right, told in ((60, 0.6), (55, 0.6), (61, 0.6), (75, 0.75), (10, 0.75)):
        answer = Ladder(step=0.05).release(Accuracy().measure(labels, np.arange(100) >= right), state=state, rng=rng)
        state = answer.state
        assert answer.released == pytest.approx(told)
    assert isinstance(answer.charge, NoGuarantee)


def test_bits_of_the_ladder_are_the_pinned_ones():
    assert Ladder(step=0.01).bits(submissions=1000) == pytest.approx(1898.18, abs=0.01)


def run_thresholdout(policy, rights, *, seed=0, rows=1000):
    rng, state, answers = np.random.default_rng(seed), {}, []
    labels = np.zeros(rows, dtype=int)
    for right in rights:
        answers.append(policy.release(Accuracy().measure(labels, np.arange(rows) >= right), state=state, rng=rng))
        state = json.loads(json.dumps(answers[-1].state))
    return answers


def test_thresholdout_charges_once_from_a_refresh_to_the_next():
    """Charges: one for each threshold drawn, so never fewer than refreshes; answers between them cost nothing."""
    answers = run_thresholdout(Thresholdout(epsilon=2.0, threshold=0.1, refreshes=5), [900, 900, 905, 300, 300, 305])
    charges = [answer.charge for answer in answers]
    refreshed = [a.state["left"] for a in answers]
    assert refreshed == [4, 4, 4, 3, 3, 3]
    assert [charge is not None for charge in charges] == [True, True, False, False, True, False]
    assert all(
        charge is None or charge == Guarantee(unit="label", epsilon=2.0, assumptions=charge.assumptions)
        for charge in charges
    )
    assert answers[1].released == answers[0].released, "near the last score nothing new is told"
    assert answers[3].released == pytest.approx(0.3, abs=0.05)


def test_thresholdout_ends_with_its_refreshes():
    with pytest.raises(BudgetExceeded, match="2 refreshes"):
        run_thresholdout(Thresholdout(epsilon=2.0, threshold=0.01, refreshes=2), [900, 100, 900])


def test_thresholdout_scale_is_that_of_the_pinned_guarantee():
    """Per refresh 2/(s n): the scale handed to the holdout must be 2/(epsilon n), rounded up, never down."""
    for epsilon, rows in ((0.1, 997), (0.3, 2201), (1.0, 3)):
        scale = round_up(Fraction(2) / (exact(epsilon) * rows))
        holdout = ReusableHoldout(rows=rows, threshold=0.1, scale=scale, refreshes=1, rng=np.random.default_rng(0))
        assert holdout.guarantee.epsilon <= epsilon


@pytest.mark.parametrize("policy", EVERY, ids=lambda policy: policy.name)
def test_answers_say_nothing_finer_than_what_is_released(policy):
    """The exact score is in no repr and no state, but what the policy means to show or to keep."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 997)
    measured = Brier().measure(labels, rng.random(997))
    answer = policy.release(measured, state={}, rng=rng)
    if not isinstance(policy, Exact):
        digits = f"{measured.exact:.9f}"
        assert digits not in repr(answer) + str(answer) + json.dumps(answer.state)
    assert "state" not in repr(answer)
    assert float(answer.text) == answer.released
    json.dumps(answer.state)


@pytest.mark.parametrize("policy", EVERY, ids=lambda policy: policy.name)
def test_policies_describe_themselves_and_state_their_guarantee(policy):
    assert policy.describe().endswith(".")
    guarantee = policy.guarantee()
    assert isinstance(guarantee, Guarantee if policy.name in ("laplace", "thresholdout") else NoGuarantee)


def test_plans_can_name_metrics_and_policies_before_numpy_is_imported():
    code = "import sys, tacit.scores.metrics, tacit.scores.policies; print(*{'numpy', 'pyarrow'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


def test_guarantees_of_several_submissions_add_up_to_the_refreshes():
    assert Laplace(epsilon=0.1).guarantee(submissions=30).epsilon == 3.0
    assert Thresholdout(epsilon=0.1, refreshes=10).guarantee(submissions=4).epsilon == 0.4
    assert Thresholdout(epsilon=0.1, refreshes=10).guarantee(submissions=30).epsilon == 1.0
    assert isinstance(Bounded(tau=0.1).guarantee(submissions=3), NoGuarantee)


@pytest.mark.parametrize("metric", [Accuracy(), Brier(), Rmse(), LogLoss()], ids=lambda metric: metric.name)
@pytest.mark.parametrize("policy", [Exact(), Rounded(decimals=2), Bounded(tau=0.01)], ids=lambda policy: policy.name)
def test_an_attacker_s_interval_holds_the_exact_mean(policy, metric):
    rng = np.random.default_rng(0)
    for _ in range(20):
        measured = metric.measure(rng.integers(0, 2, 200), rng.integers(0, 2, 200))
        answer = policy.release(measured, state={}, rng=rng).released
        low, high, scale = policy.interval(answer, metric=metric, rows=200)
        assert low <= measured.terms.mean() <= high
        assert scale == 0
