"""Gaussian noise from below: never above the truth too often, and above what one point of the curve proves."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from tacit.leak import epsilon_from_rates, epsilon_one_run
from tacit.leak.one_run_gaussian import gaussian_epsilon, is_refuted, mu_from_rates, mu_one_run
from tacit.privacy.loss.curve import gaussian_scale

DELTA = 1e-5


def right_guesses(mu, *, examples, guesses, rng):
    """Guess the coins of the units with the highest and the lowest outputs."""
    coins = rng.random(examples) < 0.5
    order = np.argsort(rng.normal(mu * coins, 1.0))
    low, high = order[: guesses // 2], order[len(order) - guesses // 2 :]
    return int((~coins[low]).sum() + coins[high].sum())


def test_the_epsilon_of_a_gaussian_is_that_of_the_mechanism():
    for epsilon in (0.3, 1.0, 4.0):
        mu = 1 / gaussian_scale(epsilon, delta=DELTA)
        assert gaussian_epsilon(mu, delta=DELTA) == pytest.approx(epsilon, abs=1e-6)
    assert gaussian_epsilon(0.0, delta=DELTA) == 0.0


@pytest.mark.parametrize("mu", [0.5, 2.0])
def test_coverage_of_one_run(mu):
    """The truth is refuted in at most 5% of 200 runs, and half of it in most."""
    rng = np.random.default_rng(0)
    counts = [right_guesses(mu, examples=200, guesses=100, rng=rng) for _ in range(200)]
    curves = {share: _curve(share * mu) for share in (1.0, 0.4)}
    refuted = {
        share: sum(is_refuted(curve, *map(_one, (v, 100, 200)), alpha=0.05) for v in counts)
        for share, curve in curves.items()
    }
    assert refuted[1.0] <= 10
    assert refuted[0.4] > refuted[1.0] + 20


def test_a_control_that_counts_wrong_guesses_as_right_is_refuted():
    rng = np.random.default_rng(1)
    counts = [min(100, right_guesses(0.5, examples=200, guesses=100, rng=rng) + 15) for _ in range(50)]
    assert sum(is_refuted(_curve(0.5), *map(_one, (v, 100, 200)), alpha=0.05) for v in counts) > 10


def test_one_run_proves_more_than_one_point_of_the_curve():
    rng = np.random.default_rng(2)
    by_curve, by_point = [], []
    for _ in range(5):
        v = right_guesses(1.0, examples=1000, guesses=200, rng=rng)
        by_curve.append(gaussian_epsilon(mu_one_run(v, 200, 1000), delta=DELTA))
        by_point.append(epsilon_one_run(v, 200, 1000, delta=DELTA))
    assert np.mean(by_curve) > 1.3 * np.mean(by_point)
    assert max(by_curve) < gaussian_epsilon(1.0, delta=DELTA)


def test_laws_that_satisfy_the_lemma_are_never_refuted():
    """Binomial counts of single units with the curve's own rates satisfy it with equality."""
    rng = np.random.default_rng(3)
    for mu in (0.3, 1.0):
        v = (rng.random((400, 50)) < ndtr(mu / 2)).sum(axis=1)
        share = np.mean([is_refuted(_curve(mu), *map(_one, (k, 50, 50)), alpha=0.05) for k in v])
        assert share <= 0.05


def test_several_counts_share_the_error():
    alone = mu_one_run(90, 100, 1000)
    assert 0 < mu_one_run([90, 150], [100, 300], 1000) < alone


def test_nothing_is_proved_by_chance():
    assert mu_one_run(50, 100, 1000) == 0.0
    assert mu_from_rates(50, 100, 50, 100) == 0.0


def test_rates_of_independent_runs_prove_more_by_the_curve():
    rng = np.random.default_rng(4)
    found, mistaken = (int((rng.normal(at, 1, 5000) >= 0.5).sum()) for at in (1.0, 0.0))
    mu = mu_from_rates(found, 5000, mistaken, 5000)
    assert 0.85 < mu < 1.0
    point = epsilon_from_rates(found, 5000, mistaken, 5000, delta=DELTA)
    assert gaussian_epsilon(mu, delta=DELTA) > 2 * point


def test_coverage_of_independent_runs():
    rng = np.random.default_rng(5)
    found, mistaken = rng.binomial(200, ndtr(0.5), 300), rng.binomial(200, ndtr(-0.5), 300)
    wrong = [mu_from_rates(f, 200, k, 200) > 1.0 for f, k in zip(found, mistaken, strict=True)]
    control = [mu_from_rates(f, 200, k, 200, level=0.5) > 1.0 for f, k in zip(found, mistaken, strict=True)]
    assert sum(wrong) <= 15 < sum(control)


def _curve(mu):
    return lambda y: ndtr(ndtri(np.minimum(y, 1.0)) - mu)


def _one(count):
    return np.array([float(count)])
