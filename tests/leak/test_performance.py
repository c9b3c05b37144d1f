"""The numbers of scikit-learn on true labels; unbiased, with honest intervals, on released ones."""

import math

import numpy as np
import pytest
from sklearn.metrics import (
    average_precision_score,
    brier_score_loss,
    log_loss,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)

from tacit.leak.number_performance import judge_numbers
from tacit.leak.performance import judge_classes
from tacit.leak.ranking import average_precision, ranking_area
from tacit.privacy import InvalidInput

NAMES = ("no", "yes")


def sample(rows, rng, share=0.3):
    chance = np.clip(rng.beta(share * 2, (1 - share) * 2, rows).round(2), 0.01, 0.99)  # with ties
    return np.stack([1 - chance, chance], axis=1), (rng.random(rows) < chance).astype(np.int64)


def released(truth, epsilon, rng):
    """Unbiased one-hot estimates from randomized response of two classes."""
    kept = 1 / (1 + math.exp(-epsilon))
    seen = np.where(rng.random(len(truth)) < kept, truth, 1 - truth)
    inverse = np.linalg.inv(np.array([[kept, 1 - kept], [1 - kept, kept]]))
    return inverse[seen]


def judge(p, u, **options):
    return judge_classes(p, u, names=NAMES, **options)


def test_true_labels_give_the_numbers_of_scikit_learn():
    rng = np.random.default_rng(0)
    p, truth = sample(500, rng)
    found = judge(p, np.eye(2)[truth])
    assert found.accuracy.value == pytest.approx((p.argmax(axis=1) == truth).mean())
    assert found.log_loss.value == pytest.approx(log_loss(truth, p))
    assert found.brier.value == pytest.approx(2 * brier_score_loss(truth, p[:, 1]))
    assert found.auc.value == pytest.approx(roc_auc_score(truth, p[:, 1]))
    assert found.average_precision.value == pytest.approx(average_precision_score(truth, p[:, 1]))
    assert found.shares["yes"] == pytest.approx(truth.mean())
    assert found.rare == "yes"
    assert found.is_useful
    assert all(one.low <= one.value <= one.high for one in (found.accuracy, found.auc, found.average_precision))


def test_released_labels_are_unbiased_for_every_number():
    rng = np.random.default_rng(1)
    p, truth = sample(400, rng)
    exact, names = judge(p, np.eye(2)[truth]), ("accuracy", "log_loss", "brier", "auc")
    runs = [judge(p, released(truth, 2.0, rng), released=True) for _ in range(60)]
    for name in names:
        values = np.array([getattr(run, name).value for run in runs])
        error = values.std(ddof=1) / math.sqrt(len(values))
        assert abs(values.mean() - getattr(exact, name).value) < 4 * error, name


def test_standard_errors_of_ranks_are_those_of_rows_drawn_anew():
    rng = np.random.default_rng(2)
    draws = [sample(300, rng) for _ in range(400)]
    for metric in (ranking_area, average_precision):
        found = [metric(p[:, 1], truth.astype(float)) for p, truth in draws]
        values, errors = np.array([(one.value, one.error) for one in found]).T
        assert np.mean(errors) == pytest.approx(values.std(ddof=1), rel=0.12), metric


def test_intervals_cover():
    """Of rows drawn anew: 95% intervals hold the population's accuracy, AUC and log loss in 88 of 100 runs or more."""
    rng = np.random.default_rng(3)
    population, truth = sample(200_000, rng)
    exact = {
        "accuracy": (population.argmax(axis=1) == truth).mean(),
        "log_loss": log_loss(truth, population),
        "auc": roc_auc_score(truth, population[:, 1]),
    }
    covered = dict.fromkeys(exact, 0)
    for _ in range(100):
        rows = rng.integers(0, len(truth), 500)
        found = judge(population[rows], released(truth[rows], 3.0, rng), released=True)
        for name, value in exact.items():
            covered[name] += getattr(found, name).low <= value <= getattr(found, name).high
    assert min(covered.values()) >= 88


def test_calibration_sees_beliefs_that_are_too_strong():
    rng = np.random.default_rng(4)
    p, truth = sample(20_000, rng)
    sharp = p**3 / (p**3).sum(axis=1, keepdims=True)
    u = released(truth, 2.0, rng)
    calm, wild = (judge(q, u, released=True).calibration_error for q in (p, sharp))
    assert calm < 0.03 < 0.08 < wild


def test_the_order_of_rows_with_equal_predictions_is_no_miscalibration():
    truth = np.repeat([0, 1], [800, 200])
    assert judge(np.tile([0.8, 0.2], (1000, 1)), np.eye(2)[truth]).calibration_error < 0.01


def test_a_perfect_record_on_few_rows_is_not_certain():
    truth = np.repeat([0, 1], 10)
    found = judge(np.eye(2)[truth], np.eye(2)[truth])
    assert (found.accuracy.value, found.accuracy.high) == (1, 1)
    assert found.accuracy.low < 0.85


def test_what_is_impossible_is_clipped():
    rng = np.random.default_rng(5)
    truth = np.ones(40, dtype=np.int64)
    found = judge(np.tile([0.1, 0.9], (40, 1)), released(truth, 0.3, rng), released=True)
    for one in (found.accuracy, found.brier, found.log_loss):
        assert 0 <= one.low <= one.value <= one.high
    assert found.accuracy.high <= 1
    none = judge([[0.4, 0.6]], [[-0.5, -0.2]], released=True)
    assert (none.shares, none.auc) == ({"no": 0.5, "yes": 0.5}, None)
    assert (none.accuracy.low, none.accuracy.high) == (0, 1)


def test_a_model_that_guesses_is_said_to_guess():
    rng = np.random.default_rng(6)
    truth = (rng.random(2000) < 0.2).astype(np.int64)
    found = judge(np.tile([0.8, 0.2], (2000, 1)), np.eye(2)[truth])
    assert not found.is_useful
    assert "Not shown to be better than guessing" in str(found)


def test_numbers_have_the_metrics_of_scikit_learn_and_intervals_that_cover():
    rng = np.random.default_rng(7)
    y = rng.normal(size=100_000) * 3
    p = y / 2 + rng.normal(size=len(y))
    exact = {
        "r2": r2_score(y, p),
        "root_mean_squared_error": root_mean_squared_error(y, p),
        "mean_absolute_error": mean_absolute_error(y, p),
    }
    whole = judge_numbers(p, y)
    assert {name: getattr(whole, name).value for name in exact} == pytest.approx(exact)
    assert whole.blind_root_mean_squared_error == pytest.approx(y.std())
    covered = dict.fromkeys(exact, 0)
    for _ in range(100):
        rows = rng.integers(0, len(y), 300)
        found = judge_numbers(p[rows], y[rows])
        for name, value in exact.items():
            covered[name] += getattr(found, name).low <= value <= getattr(found, name).high
    assert min(covered.values()) >= 88
    flat = judge_numbers(np.full(500, y[:500].mean()), y[:500])
    assert "Not shown to be better than predicting the mean" in str(flat)
    assert judge_numbers([1.0, 2.0], [3.0, 3.0]).r2 is None


def test_shapes_are_checked():
    with pytest.raises(InvalidInput, match="must be rows x 2 classes"):
        judge(np.ones((3, 3)), np.ones((3, 3)))
    with pytest.raises(InvalidInput, match="two labels or more"):
        judge_numbers([1.0], [1.0])
