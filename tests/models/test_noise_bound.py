"""The epsilon of DP-SGD from below by its own curve: coverage, power, and what it must and must not refute."""

from dataclasses import replace
from math import log

import numpy as np
import pytest
from scipy.special import ndtr

from tacit.leak import epsilon_one_run, gaussian_epsilon, mu_one_run
from tacit.leak.one_run_gaussian import is_refuted
from tacit.models import Plan
from tacit.models.attacks.coins import SHARES, PairCoins
from tacit.models.training.accounting import find_noise, sampling
from tacit.models.training.noise_bound import epsilon_by_noise
from tacit.privacy.loss import PureLoss, SampledGaussianLoss, distribution_of
from tacit.privacy.trade_off import trade_off_curve

PAIRS, DELTA = 400, 1e-5
STEPS = SampledGaussianLoss(noise=3.0, rate=0.3, steps=20)


def pair_scores(loss, *, pairs, rng):
    """The likelihood ratios of the leakiest records: each pair's sum has its own direction, moved by +1 or by -1."""
    coin, total = np.where(rng.random(pairs) < 0.5, 1.0, -1.0), np.zeros(pairs)
    for _ in range(loss.steps):
        seen = (rng.random(pairs) < loss.rate) * coin + loss.noise * rng.normal(size=pairs)
        ahead, behind = ((sign * 2 * seen - 1) / (2 * loss.noise**2) for sign in (1, -1))
        total += np.log1p(loss.rate * np.expm1(ahead)) - np.log1p(loss.rate * np.expm1(behind))
    return total * coin


def right_guesses(loss, *, pairs, rng):
    scores = pair_scores(loss, pairs=pairs, rng=rng)
    right = (scores > 0)[np.argsort(-np.abs(scores))]
    guesses = np.maximum(1, np.round(np.multiply(SHARES, pairs)).astype(int))
    return np.cumsum(right)[guesses - 1], guesses


def refuted(claimed, counts, *, pairs):
    """How many of the runs refute the curve of a claim, at 95%."""
    curve = trade_off_curve(distribution_of(claimed))
    alpha = 0.05 / len(SHARES)
    given = ([np.asarray(count, dtype=float) for count in (*one, np.full(len(SHARES), pairs))] for one in counts)
    return sum(is_refuted(curve, *one, alpha=alpha) for one in given)


def test_the_true_noise_is_rarely_refuted_and_a_false_claim_mostly():
    """In at most 5% of 200 runs; five times the noise that was used is refuted in most."""
    rng = np.random.default_rng(0)
    counts = [right_guesses(STEPS, pairs=PAIRS, rng=rng) for _ in range(200)]
    assert refuted(STEPS, counts, pairs=PAIRS) <= 10
    assert refuted(replace(STEPS, noise=5 * STEPS.noise), counts, pairs=PAIRS) > 150


def test_a_control_that_counts_wrong_guesses_as_right_is_refuted():
    rng = np.random.default_rng(1)
    counts = [right_guesses(STEPS, pairs=PAIRS, rng=rng) for _ in range(50)]
    better = [(np.minimum(guesses, right + guesses // 5), guesses) for right, guesses in counts]
    assert refuted(STEPS, better, pairs=PAIRS) > 25


def test_the_bound_exceeds_a_claim_where_its_curve_is_refuted():
    """Noise that is a fifth of what is claimed; the bound is above the claim and below the truth."""
    rng = np.random.default_rng(2)
    claim = replace(STEPS, noise=5 * STEPS.noise)
    bounds = [
        epsilon_by_noise(*right_guesses(STEPS, pairs=PAIRS, rng=rng), PAIRS, loss=claim, delta=DELTA) for _ in range(4)
    ]
    assert min(bounds) > claim.epsilon_at(DELTA)
    assert max(bounds) < STEPS.epsilon_at(DELTA)


def test_without_sampling_it_is_the_bound_of_the_gaussian():
    loss = SampledGaussianLoss(noise=10.0, rate=1.0, steps=25)
    found = epsilon_by_noise(160, 200, 1000, loss=loss, delta=DELTA)
    assert found == pytest.approx(gaussian_epsilon(mu_one_run(160, 200, 1000), delta=DELTA), rel=5e-3)


def test_it_proves_more_than_one_point_of_the_curve():
    """At the size of the bundled audit: 898 pairs of digits, epsilon 3."""
    rate, steps = sampling(898, epochs=20, batch_size=200)
    loss = find_noise(epsilon=3, delta=DELTA, rate=rate, steps=steps)
    rng = np.random.default_rng(2)
    counts = [right_guesses(loss, pairs=898, rng=rng) for _ in range(5)]
    by_curve = [epsilon_by_noise(*count, 898, loss=loss, delta=DELTA) for count in counts]
    by_point = [np.max(epsilon_one_run(*count, 898, delta=DELTA, level=1 - 0.05 / len(SHARES))) for count in counts]
    assert np.mean(by_curve) > 1.25 * np.mean(by_point)
    assert max(by_curve) < 3


def test_nothing_is_proved_by_chance():
    assert epsilon_by_noise(50, 100, 200, loss=STEPS, delta=DELTA) == 0.0


def test_the_curve_lies_under_that_of_randomized_response_and_of_the_gaussian():
    y = np.linspace(0, 1, 101)
    least = np.maximum(y / 3, 1 - 3 * (1 - y))  # the two tangents of epsilon log 3
    np.testing.assert_allclose(trade_off_curve(PureLoss(epsilon=log(3)).distribution())(y), least, atol=2e-3)
    gaussian = trade_off_curve(SampledGaussianLoss(noise=2.0, rate=1.0, steps=1).distribution())
    t = np.linspace(-3, 3, 61)  # the events x >= t of N(1/2, 1) and N(-1/2, 1)
    found = gaussian(ndtr(0.5 - t))
    assert (found <= ndtr(-0.5 - t) + 1e-9).all()
    assert (found >= ndtr(-0.5 - t) - 2e-3).all()


def test_pairs_are_guessed_by_the_higher_score():
    rng = np.random.default_rng(3)
    members = rng.normal(3.0, 1, 500)
    found = PairCoins().bound(members, rng.normal(0, 1, 500), rng=rng, level=0.95, delta=0.0)
    assert found.value > 3
    same = PairCoins().bound(members, members, rng=rng, level=0.95, delta=0.0)
    assert same.value < 0.5, "ties are guesses"
    infinite = PairCoins().bound(np.full(9, np.inf), np.full(9, np.inf), rng=rng, level=0.95, delta=0.0)
    assert infinite.value < 3


def test_the_audit_bounds_epsilon_of_whole_rows_alone():
    made = {"label": "ill", "epsilon": 1, "delta": 1e-6}
    assert Plan(**made).trial().method == "rmia:models=8,coins=pairs"
    assert Plan(**made, person="who").trial().method == "rmia:models=8,coins=none", (
        "how many rows are used depends on coins"
    )
    assert Plan(label="ill", epsilon=1, mechanism="label_private").trial().method == "rmia:models=8,coins=none"
