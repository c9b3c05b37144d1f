"""Attacks through random noise: repeats, and a Hadamard design."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

from papers.score_attacks.attacks import (
    GaussianAnswerNoise,
    HadamardDesign,
    LaplaceAnswerNoise,
    plan_against_noise,
)
from tacit.data import titanic
from tacit.scores.attacks import infer_labels
from tacit.scores.metrics import SKLEARN_FLOOR, Accuracy, LogLoss

LOSS = LogLoss(floor=SKLEARN_FLOOR)
TRUTH = np.random.default_rng(0).permutation(titanic().codes)[:300]


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
    planned = plan_against_noise(LOSS, rows=120, noise=noise)
    outcome = infer_labels(lambda p: log_loss(truth, p) + draw(rng), planned)
    np.testing.assert_array_equal(outcome.labels, truth)
    assert outcome.queries == planned.queries
    assert planned.design.failure <= noise.failure


def test_strong_noise_asks_for_all_rows_at_once():
    assert isinstance(plan_against_noise(LOSS, rows=120, noise=GaussianAnswerNoise(scale=1.0)).design, HadamardDesign)


def test_more_random_noise_than_planned_gives_wrong_labels():
    """The control: the same plan at 30 times the noise."""
    rng = np.random.default_rng(0)
    truth = TRUTH[:120]
    planned = plan_against_noise(LOSS, rows=120, noise=GaussianAnswerNoise(scale=0.3))
    outcome = infer_labels(lambda p: log_loss(truth, p) + rng.normal(0, 9.0), planned)
    assert 5 < (outcome.labels != truth).sum() < 115


def test_random_noise_on_three_classes_and_on_accuracy():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 60)
    loss = LogLoss(classes=3, floor=SKLEARN_FLOOR)
    planned = plan_against_noise(loss, rows=60, noise=LaplaceAnswerNoise(scale=0.1))
    outcome = infer_labels(lambda p: loss.score(truth, p) + rng.laplace(0, 0.1), planned)
    np.testing.assert_array_equal(outcome.labels, truth)
    metric = Accuracy()
    planned = plan_against_noise(metric, rows=120, noise=GaussianAnswerNoise(scale=3e-3))
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
