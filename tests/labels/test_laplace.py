import itertools
import math

import numpy as np
import pytest

from tacit.labels.mechanisms import LaplaceOneHot
from tacit.privacy import InvalidInput


def test_scale_is_two_over_epsilon():
    assert float(LaplaceOneHot(epsilon=1.0, classes=3).noise.scale) / 1024 == 2.0


def test_loss_is_epsilon_by_enumeration_of_outputs():
    """Over a coarse set of outputs the log likelihoods of two labels differ by at most epsilon, and by epsilon."""
    alibi = LaplaceOneHot(epsilon=0.8, classes=3)
    outputs = np.array(list(itertools.product(np.linspace(-2, 3, 11), repeat=3)))
    log_likelihood = alibi.log_likelihood(outputs)
    gap = log_likelihood.max(axis=1) - log_likelihood.min(axis=1)
    assert gap.max() == pytest.approx(0.8, abs=1e-12)


def test_log_likelihood_is_the_noise_law():
    """Against the sampler's own probabilities, entry by entry."""
    alibi = LaplaceOneHot(epsilon=2.0, classes=2)
    observed = np.array([[0.25, 1.5], [-1.0, 0.5]])
    steps = np.rint(observed * 1024).astype(np.int64)
    for label in (0, 1):
        shifted = steps - 1024 * np.eye(2, dtype=np.int64)[label]
        other = steps - 1024 * np.eye(2, dtype=np.int64)[1 - label]
        ratio = np.log(alibi.noise.pmf(shifted)).sum(axis=1) - np.log(alibi.noise.pmf(other)).sum(axis=1)
        ours = alibi.log_likelihood(observed)
        assert ours[:, label] - ours[:, 1 - label] == pytest.approx(ratio, abs=1e-9)


@pytest.mark.parametrize(("classes", "expected"), [(2, 0.620918), (10, 0.163666)])
def test_best_guess_is_right_as_often_as_the_sheet_says(classes, expected):
    """Formula sheet a7: epsilon 1, uniform prior, ties at random; and a control at another epsilon."""
    rng = np.random.default_rng(5)
    trials = 200_000

    def rate(epsilon):
        alibi = LaplaceOneHot(epsilon=epsilon, classes=classes)
        labels = rng.integers(0, classes, size=trials)
        likelihood = alibi.log_likelihood(alibi.randomize(labels, rng=rng))
        ties = np.isclose(likelihood, likelihood.max(axis=1, keepdims=True), rtol=0, atol=1e-9)
        return float((ties[np.arange(trials), labels] / ties.sum(axis=1)).mean())

    assert abs(rate(1.0) - expected) < 5 * math.sqrt(expected * (1 - expected) / trials)
    assert abs(rate(1.2) - expected) > 5 * math.sqrt(expected * (1 - expected) / trials)


def test_counts_are_unbiased():
    alibi = LaplaceOneHot(epsilon=1.0, classes=3)
    labels = np.repeat([0, 1, 2], [5000, 3000, 2000])
    estimate = alibi.randomize(labels, rng=np.random.default_rng(0)).sum(axis=0)
    deviation = math.sqrt(10_000 * 2 * 2.0**2)
    assert np.abs(estimate - [5000, 3000, 2000]).max() < 5 * deviation


def test_bad_input():
    with pytest.raises(InvalidInput, match="epsilon must be"):
        LaplaceOneHot(epsilon=0.0)
    with pytest.raises(InvalidInput, match="rows of 2 finite numbers"):
        LaplaceOneHot(epsilon=1.0, classes=2).log_likelihood([[1.0]])
    with pytest.raises(InvalidInput, match="classes must be given"):
        LaplaceOneHot(epsilon=1.0).randomize(np.array([0]), rng=np.random.default_rng(0))
