import math

import numpy as np
import pytest
from scipy.stats import chisquare

from tacit.labels.attacks.guess import bayes_posterior
from tacit.labels.mechanisms import RandomizedResponse
from tacit.privacy import InvalidInput
from tacit.privacy.noise import WeightedChoice, max_log_ratio

EPSILONS = [0.01, 0.1, 1.0, 3.0, 8.0, 20.0]


def enumerate_epsilon(matrix):
    rows = [WeightedChoice.from_fractions(row) for row in matrix]
    return max(max_log_ratio(a, b) for a in rows for b in rows)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("classes", [2, 3, 10])
def test_largest_log_ratio_is_epsilon(epsilon, classes):
    found = enumerate_epsilon(RandomizedResponse(epsilon=epsilon, classes=classes).exact_transition())
    assert epsilon - 1e-12 <= found <= epsilon


def test_the_enumeration_catches_a_mechanism_that_keeps_too_often():
    matrix = RandomizedResponse(epsilon=1.01, classes=3).exact_transition()
    assert enumerate_epsilon(matrix) > 1.0 + 1e-12


def test_pins():
    """Formula sheet a1 to a3."""
    rr = RandomizedResponse(epsilon=1.0, classes=10)
    assert rr.transition()[0, :2] == pytest.approx([0.231969, 0.085337], abs=5e-7)
    likelihood = RandomizedResponse(epsilon=1.0, classes=3).likelihood(np.array([1]))
    assert bayes_posterior(likelihood, prior=[0.5, 0.3, 0.2])[0] == pytest.approx(
        [0.329927, 0.538102, 0.131971], abs=5e-7
    )


@pytest.mark.parametrize("classes", [2, 5])
def test_draws_follow_the_transition_matrix(classes):
    rr = RandomizedResponse(epsilon=1.0, classes=classes)
    drawn = rr.randomize(np.full(200_000, 1), rng=np.random.default_rng(2))
    counts = np.bincount(drawn, minlength=classes)
    assert chisquare(counts, 200_000 * rr.transition()[1]).pvalue > 1e-6
    wrong = RandomizedResponse(epsilon=1.05, classes=classes)
    assert chisquare(counts, 200_000 * wrong.transition()[1]).pvalue < 1e-6


@pytest.mark.parametrize("epsilon", [0, -1.0, math.nan, math.inf])
def test_bad_epsilon(epsilon):
    with pytest.raises(InvalidInput, match="epsilon must be"):
        RandomizedResponse(epsilon=epsilon, classes=2)


def test_bad_classes_and_labels():
    with pytest.raises(InvalidInput, match="classes must be an integer >= 2, got 1"):
        RandomizedResponse(epsilon=1.0, classes=1)
    with pytest.raises(InvalidInput, match="classes must be given"):
        RandomizedResponse(epsilon=1.0).transition()
    with pytest.raises(InvalidInput, match=r"labels must be in 0\.\.1, got 2"):
        RandomizedResponse(epsilon=1.0, classes=2).randomize(np.array([0, 2]), rng=np.random.default_rng(0))
