"""mu of Gaussian privacy, rho of concentrated privacy, and the trade-off curve."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.stats import norm

from tacit.privacy import Guarantee, Unit
from tacit.privacy.loss import (
    ApproximateLoss,
    ComposedLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    PureLoss,
    SampledGaussianLoss,
)

RATES = np.linspace(0.001, 0.999, 99)


def gaussian_curve(mu):
    return norm.cdf(norm.ppf(1 - RATES) - mu)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_mu_of_a_pure_epsilon_is_the_least(epsilon):
    exact = np.maximum(1 - math.exp(epsilon) * RATES, math.exp(-epsilon) * (1 - RATES))
    mu = PureLoss(epsilon=epsilon).mu
    assert (gaussian_curve(mu) <= exact + 1e-12).all()
    kink = 1 / (1 + math.exp(epsilon))
    assert norm.cdf(norm.ppf(1 - kink) - 0.99 * mu) > kink  # control: a smaller mu claims too much
    assert DiscreteLaplaceLoss(scale=2 / Fraction(str(epsilon)), sensitivity=2).mu == pytest.approx(mu)


@pytest.mark.parametrize("epsilon", [1e-9, 3e-6, 1.9e-3, 2e-3, 0.5, 20.0])
def test_the_mu_of_a_pure_epsilon_is_rounded_up_at_any_size(epsilon):
    with mpmath.workdps(40):
        exact = 2 * mpmath.sqrt(2) * mpmath.erfinv(mpmath.tanh(mpmath.mpf(repr(epsilon)) / 2))
        assert 0 <= mpmath.mpf(PureLoss(epsilon=epsilon).mu) / exact - 1 < 1e-11


def test_mus_add_as_squares_and_rhos_add():
    noise = GaussianLoss(scale=5.0, sensitivity=1.0)
    both = ComposedLoss(parts=(noise, noise, noise), times=3)
    assert both.mu == pytest.approx(0.6)
    assert both.rho == pytest.approx(0.18)
    counts = DiscreteGaussianLoss(scale=Fraction(5), sensitivity=1)
    assert counts.mu is None
    assert ComposedLoss(parts=(counts, PureLoss(epsilon=0.2))).rho == pytest.approx(0.04)
    assert ComposedLoss(parts=(counts, noise)).mu is None


@pytest.mark.parametrize(
    "loss", [ApproximateLoss(epsilon=1.0, delta=1e-6), SampledGaussianLoss(noise=1, rate=0.1, steps=2)]
)
def test_what_has_none_states_none(loss):
    assert (loss.mu, loss.rho) == (None, None)


@pytest.mark.parametrize("loss", [DiscreteGaussianLoss(scale=Fraction(2), sensitivity=1), PureLoss(epsilon=0.7)])
def test_rho_bounds_every_renyi_divergence_and_nine_tenths_of_it_do_not(loss):
    pair = loss.distribution()
    losses = (pair.lower + np.arange(len(pair.masses))) * pair.interval
    orders = np.array([1.01, 1.5, 2.0, 4.0, 16.0])
    renyi = [math.log(pair.masses @ np.exp((order - 1) * losses)) / (order - 1) / order for order in orders]
    assert max(renyi) <= loss.rho * (1 + 1e-3)
    assert max(renyi) > 0.9 * loss.rho


def test_the_trade_off_curve_is_below_the_true_one_and_near():
    guarantee = Guarantee.from_loss(GaussianLoss(scale=2.0, sensitivity=1.0), unit=Unit.RECORD, delta=1e-5)
    assert guarantee.mu == 0.5
    found = guarantee.least_false_negatives(RATES)
    assert (found <= gaussian_curve(0.5) + 1e-9).all()
    assert (found >= gaussian_curve(0.5) - 2e-3).all()
