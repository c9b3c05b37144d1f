"""Composed epsilons against exact ones, from both sides: never below, and at most 1% above."""

import math
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.optimize import brentq

from tacit.privacy import tilted
from tacit.privacy.distribution import LossDistribution
from tacit.privacy.loss import ComposedLoss, DiscreteGaussianLoss, GaussianLoss, PureLoss, SampledGaussianLoss
from tacit.privacy.tilted import LossSummand, add_losses

DELTAS = [1e-3, 1e-6, 1e-9, 1e-12]


def epsilon_of(delta_at, delta, most):
    return brentq(lambda epsilon: math.log(max(delta_at(epsilon), 1e-300) / delta), 0.0, most, xtol=1e-12)


def binomial_delta(each, count):
    """delta of ``count`` randomized responses in 40 digits."""
    with mpmath.workdps(40):
        keep = 1 / (1 + mpmath.exp(-mpmath.mpf(each)))
        losses = [(2 * k - count) * mpmath.mpf(each) for k in range(count + 1)]
        masses = [mpmath.binomial(count, k) * keep**k * (1 - keep) ** (count - k) for k in range(count + 1)]

    def delta_at(epsilon):
        with mpmath.workdps(40):
            return mpmath.fsum(
                m * (1 - mpmath.exp(epsilon - loss)) for loss, m in zip(losses, masses, strict=True) if loss > epsilon
            )

    return delta_at


def contour_delta(log_moments):
    """delta(e) = (1/2 pi i) int E[e^(s L)] e^(-s e) / (s (s + 1)) ds along a line to the right of 0: no grid of losses.

    ``log_moments`` maps complex s to log E[e^(s L)] of the whole composition.
    """

    def delta_at(epsilon):
        def height(t):
            return log_moments(t).real - t * epsilon - math.log(t * (t + 1))

        line = min(np.geomspace(0.05, 300, 80), key=height)
        bend = max((height(line * 1.01) - 2 * height(line) + height(line * 0.99)) / (line * 0.01) ** 2, 1e-9)
        step = 1 / math.sqrt(bend) / 8
        total, place = 0.0, step / 2
        while True:
            block = place + step * np.arange(400)
            s = line + 1j * block
            values = np.exp([log_moments(one) - one * epsilon for one in s]) / (s * (s + 1))
            total += float(values.real.sum())
            place = block[-1] + step
            if np.abs(values).max() < 1e-13 * abs(total):
                return total * step / math.pi

    return delta_at


def sampled_moments(noise, rate, steps):
    x = np.linspace(-12 * noise, 12 * noise + 1, 4001)
    law = (1 - rate) * np.exp(-(x**2) / 2 / noise**2) + rate * np.exp(-((x - 1) ** 2) / 2 / noise**2)
    law /= law.sum()
    losses = np.log1p(rate * np.expm1((x - 0.5) / noise**2)) - np.log1p(rate * np.expm1((-x - 0.5) / noise**2))

    def log_moment(s):
        with np.errstate(over="ignore"):
            return steps * np.log1p((law * np.expm1(s * losses)).sum())

    return log_moment


def pure_moments(epsilon, count):
    keep = 1 / (1 + math.exp(-epsilon))
    return lambda s: count * np.log(keep * np.exp(s * epsilon) + (1 - keep) * np.exp(-s * epsilon))


def gaussian_moments(mu):
    return lambda s: mu * mu * s * (s + 1) / 2


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize(("each", "count"), [(1e-4, 2000), (0.01, 1000), (0.0373, 30), (0.5, 50), (1.0, 8)])
def test_randomized_responses_cost_what_the_binomial_sum_says(each, count, delta):
    exact = epsilon_of(binomial_delta(each, count), delta, each * count)
    ours = PureLoss(epsilon=each).distribution().power(count).epsilon_at(delta)
    assert exact * (1 - 1e-12) <= ours <= exact * 1.01


def test_control_one_interval_for_all_losses_triples_the_epsilon_of_small_ones():
    keep = 1 / (1 + math.exp(-1e-4))
    coarse = LossDistribution.from_atoms([1e-4, -1e-4], [keep, 1 - keep], interval=1e-3)
    exact = epsilon_of(binomial_delta(1e-4, 2000), 1e-6, 0.2)
    assert exact == pytest.approx(0.0141, abs=5e-5)
    assert coarse.power(2000).epsilon_at(1e-6) > 3 * exact


@pytest.mark.parametrize("delta", DELTAS)
def test_300_discrete_gaussians_cost_what_their_sums_say(delta):
    """The sum of their outcomes, convolved term by term: all terms are positive, so nothing cancels."""
    one = np.exp(-(np.arange(-75, 76) ** 2) / 50.0)
    one /= one.sum()
    sums, square, left = np.ones(1), one, 300
    while left:
        sums = np.convolve(sums, square) if left & 1 else sums
        square, left = np.convolve(square, square), left >> 1
    losses = (300 - 2 * (np.arange(len(sums)) - len(sums) // 2)) / 50
    exact = epsilon_of(lambda e: float(sums @ np.maximum(-np.expm1(e - losses), 0)), delta, 100.0)
    ours = ComposedLoss(parts=(DiscreteGaussianLoss(scale=Fraction(5), sensitivity=1),) * 300).epsilon_at(delta)
    assert exact * (1 - 1e-9) <= ours <= exact * 1.01


@pytest.mark.parametrize("delta", [1e-5, 1e-7, 1e-9, 1e-12])
@pytest.mark.parametrize(("noise", "rate", "steps"), [(1.0, 1e-4, 20_000), (2.0, 0.02, 3000), (0.8, 0.01, 500)])
def test_steps_of_dp_sgd_cost_what_a_contour_integral_says(noise, rate, steps, delta):
    ours = SampledGaussianLoss(noise=noise, rate=rate, steps=steps).epsilon_at(delta)
    exactly = contour_delta(sampled_moments(noise, rate, steps))
    assert exactly(ours) <= delta * (1 + 1e-6)
    assert exactly(ours / 1.01) > delta


def test_different_losses_cost_what_a_contour_integral_says():
    parts = Counter({PureLoss(epsilon=0.03): 40, GaussianLoss(scale=9.0, sensitivity=1.0): 6, PureLoss(epsilon=0.2): 9})
    moments = [pure_moments(0.03, 40), gaussian_moments(math.sqrt(6) / 9), pure_moments(0.2, 9)]
    exactly = contour_delta(lambda s: sum(one(s) for one in moments))
    for delta in (1e-4, 1e-8, 1e-12):
        ours = ComposedLoss(parts=tuple(parts.elements())).epsilon_at(delta)
        assert exactly(ours) <= delta * (1 + 1e-6)
        assert exactly(ours / 1.01) > delta


@pytest.mark.parametrize("mu", [1e-5, 0.01, 1.0, 12.0])
def test_a_gaussian_costs_its_closed_form(mu):
    from scipy.special import log_ndtr

    for delta in DELTAS:

        def delta_at(e):
            near, far = log_ndtr(mu / 2 - e / mu), log_ndtr(-mu / 2 - e / mu)
            return math.exp(near) * -math.expm1(min(e + far - near, 0.0))

        exact = epsilon_of(delta_at, delta, 10 * mu + mu**2) if delta_at(0.0) > delta else 0.0
        ours = GaussianLoss(scale=1 / mu, sensitivity=1.0).distribution().epsilon_at(delta)
        assert exact * (1 - 1e-7) <= ours <= exact * 1.01 + 1e-14


def test_every_mass_of_a_transform_is_bounded_from_above(monkeypatch):
    """Against sums of 500 losses convolved term by term, from the middle to masses of 10^-30."""
    masses = np.random.default_rng(3).dirichlet(np.ones(9))
    plain, square, left = np.ones(1), masses, 500
    while left:
        plain = np.convolve(plain, square) if left & 1 else plain
        square, left = np.convolve(square, square), left >> 1

    def bounds():
        lower, found, above = add_losses([LossSummand(-4, masses, 500)])
        start = lower + 4 * 500
        assert plain[start + len(found) :].sum() <= above <= 1.1e-24
        return found / plain[start : start + len(found)]

    kept = bounds()
    assert kept.min() >= 1
    assert kept[len(kept) // 2 :].max() < 1.1  # the half of large losses
    monkeypatch.setattr(tilted, "_ROUNDING", 1.0)
    monkeypatch.setattr(tilted, "_UNIT", 0.0)
    assert bounds().min() < 1  # control
