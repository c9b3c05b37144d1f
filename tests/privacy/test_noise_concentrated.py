import math
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.privacy.noise import DiscreteGaussian, zcdp_delta, zcdp_epsilon, zcdp_rho
from tacit.privacy.rounding import exact


def least_over_orders(rho, epsilon):
    """The formula on a fine grid of orders."""
    order = 1 + np.exp(np.linspace(-20, 12, 200_001))
    exponent = (order - 1) * (order * rho - epsilon) + order * np.log1p(-1 / order) - np.log(order - 1)
    return float(np.exp(exponent.min()))


@given(st.floats(1e-4, 3), st.floats(0.01, 12))
@settings(max_examples=60, deadline=None)
def test_delta_is_the_least_over_orders(rho, epsilon):
    grid = min(1.0, least_over_orders(rho, epsilon))
    assert zcdp_delta(exact(rho), epsilon=epsilon) == pytest.approx(grid, rel=1e-5)


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(4), Fraction(12)])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_conversion_is_never_below_the_exact_curve(scale, epsilon):
    noise = DiscreteGaussian(scale=scale)
    assert zcdp_delta(noise.rho(squared_sensitivity=1), epsilon=epsilon) >= noise.delta_at(epsilon, sensitivity=1)


@pytest.mark.parametrize("rho", [Fraction(1, 1000), Fraction(1, 32), Fraction(2)])
@pytest.mark.parametrize("delta", [1e-3, 1e-9])
def test_epsilon_inverts_delta(rho, delta):
    epsilon = zcdp_epsilon(rho, delta=delta)
    assert zcdp_delta(rho, epsilon=epsilon) <= delta < zcdp_delta(rho, epsilon=epsilon * (1 - 1e-8))
    assert epsilon < float(rho) + 2 * math.sqrt(float(rho) * math.log(1 / delta))  # Bun and Steinke's older bound


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-9])
def test_rho_inverts_delta(epsilon, delta):
    rho = zcdp_rho(epsilon, delta=delta)
    assert zcdp_delta(exact(rho), epsilon=epsilon) <= delta < zcdp_delta(exact(rho * (1 + 1e-8)), epsilon=epsilon)


def test_much_privacy_costs_nothing_and_little_tells_all():
    assert zcdp_epsilon(Fraction(1, 10**12), delta=0.5) == 0.0
    assert zcdp_delta(Fraction(1000), epsilon=0.1) == 1.0


def test_opendp_converts_alike():
    dp.enable_features("contrib")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    curve = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=4.0)).map(1)
    assert curve.epsilon(delta=1e-5) == pytest.approx(zcdp_epsilon(Fraction(1, 32), delta=1e-5), rel=1e-6)
