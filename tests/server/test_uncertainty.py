"""Released scores with their uncertainty: digits, intervals, ties, and the chance of an order, held against draws."""

import numpy as np
import pytest

from tacit.scores.metrics import Accuracy, LogLoss, Rmse
from tacit.scores.policies import Bounded, Exact, Ladder, Laplace, Rounded
from tacit.server import CompetitionPlan, Rules
from tacit.server.cautions import cautions
from tacit.server.uncertainty import ScoreNoise, places

ROWS, DRAWS = 200, 1_500


def released(policy, metric, predictions, rng):
    """Return exact and released scores of the same predictions, drawn again and again."""
    truth = np.tile([0, 1], ROWS // 2)
    measured = metric.measure(truth, predictions)
    noise = ScoreNoise(metric=metric, policy=policy, rows=ROWS)
    answers = [noise.rounded(policy.release(measured, state={}, rng=rng)) for _ in range(DRAWS)]
    return noise, measured.exact, answers


@pytest.mark.parametrize("metric", [LogLoss(), Accuracy(), Rmse()], ids=lambda metric: metric.name)
@pytest.mark.parametrize("policy", [Laplace(epsilon=0.3), Bounded(tau=0.05), Rounded(decimals=2), Exact()])
def test_the_interval_holds_the_exact_score(metric, policy):
    predictions = np.full(ROWS, 0.4) if metric.name != "accuracy" else np.zeros(ROWS)
    noise, exact, answers = released(policy, metric, predictions, np.random.default_rng(0))
    ends = np.array([noise.interval(answer.released) for answer in answers])
    held = np.mean((ends[:, 0] <= exact) & (exact <= ends[:, 1]))
    assert held >= 0.95 - 3 * (0.05 * 0.95 / DRAWS) ** 0.5
    if isinstance(policy, Laplace):
        middle, half = ends.mean(axis=1), (ends[:, 1] - ends[:, 0]) / 2
        assert np.mean(np.abs(exact - middle) <= half / 2) < 0.93, "control: half as wide is too narrow"


def test_digits_stop_at_the_noise():
    noise, _, answers = released(Laplace(epsilon=0.3), LogLoss(), np.full(ROWS, 0.4), np.random.default_rng(1))
    assert {len(answer.text.partition(".")[2]) for answer in answers} == {2}
    assert all(answer.released == float(answer.text) for answer in answers)
    assert noise.shown(0.5) == "0.50"
    small = ScoreNoise(metric=LogLoss(), policy=Laplace(epsilon=0.2), rows=36)
    assert [small.shown(score) for score in (1.38, 0.329, 0.0100503)] == ["1.4", "0.3", "0.0"]
    assert ScoreNoise(metric=LogLoss(), policy=Rounded(), rows=36).shown(0.329) is None


def test_the_best_of_many_has_a_wider_interval():
    noise, exact, answers = released(Laplace(epsilon=0.3), Accuracy(), np.zeros(ROWS), np.random.default_rng(2))
    best = np.array([answer.released for answer in answers]).reshape(-1, 20).max(axis=1)
    one, many = ([noise.interval(score, of=of) for score in best] for of in (1, 20))
    assert np.mean([low <= exact <= high for low, high in many]) >= 0.95
    assert np.mean([low <= exact <= high for low, high in one]) < 0.8, "control"


def test_the_chance_of_an_order_is_that_of_draws():
    """Two exact scores with a flat prior, given their released difference."""
    rng, policy = np.random.default_rng(3), Laplace(epsilon=0.3)
    noise = ScoreNoise(metric=Accuracy(), policy=policy, rows=ROWS)
    scale = policy.scale(Accuracy(), rows=ROWS)
    exact = rng.uniform(-1, 1, (2, 400_000)) * 10 * scale
    seen = exact + rng.laplace(0, scale, exact.shape)
    near = np.abs((seen[0] - seen[1]) - scale) < 0.1 * scale
    right = np.mean(exact[0][near] > exact[1][near])
    assert noise.in_order(0.5 + scale, 0.5) == pytest.approx(right, abs=0.015)
    assert noise.in_order(0.5, 0.5) == 0.5
    assert ScoreNoise(metric=Accuracy(), policy=Rounded(), rows=ROWS).in_order(0.751, 0.75) == pytest.approx(1)
    assert ScoreNoise(metric=Accuracy(), policy=Ladder(), rows=ROWS).in_order(0.8, 0.7) is None


def test_places_that_overlap_are_groups():
    three = [(0.0, 2.0), (0.1, 2.3), (1.2, 3.4)]
    assert places([1, 1.2, 2.3], three, lower=True) == [(1, 3)] * 3
    apart = [(0.8, 0.9), (0.65, 0.75), (0.5, 0.7), (0.1, 0.2)]
    assert places([0.85, 0.7, 0.6, 0.15], apart, lower=False) == [(1, 1), (2, 3), (2, 3), (4, 4)]
    assert places([3, 3, 2], [None] * 3, lower=False) == [(1, 2), (1, 2), (3, 3)]
    values = [0.8, 0.751, 0.75, 0.75, 0.7]
    for policy in (Rounded(), Exact()):
        noise = ScoreNoise(metric=Accuracy(), policy=policy, rows=ROWS)
        found = places(values, [noise.interval(value) for value in values], lower=False)
        assert found == [(1, 1), (2, 2), (3, 4), (3, 4), (5, 5)]
    assert places([], [], lower=True) == []


def test_a_host_is_told_that_noise_hides_everything():
    plan = CompetitionPlan(policy="laplace", epsilon=20)
    noisy = Rules(plan=plan, together=None)
    (small,) = cautions(noisy, LogLoss(), rows=120, answers=None)
    assert small.startswith("Noise hides the differences between live scores: 95% are within 1.9 of the exact ones")
    enough = Rules(plan=CompetitionPlan(policy="laplace", epsilon=224), together=None)
    assert cautions(enough, LogLoss(), rows=120, answers=None) == ()
    assert cautions(noisy, LogLoss(), rows=1_400, answers=None) == ()
    shared = Rules(plan=CompetitionPlan())
    assert "There are no live scores" in cautions(shared, LogLoss(), rows=900, answers=0)[0]
    bare = Rules(plan=CompetitionPlan(), together=None)
    assert "Nothing limits" in cautions(bare, LogLoss(), rows=900, answers=None)[0]
