"""The same noise on many coordinates: priced by its sum, held against a convolution and a control."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from tacit.privacy import InvalidInput, Unit, compose
from tacit.privacy.noise import CoordinateNoise, DiscreteGaussian, gaussian_scale


def _hockey_stick(scale, shifts, epsilon):
    """By brute force over the product of the coordinates."""
    reach = 10 * int(scale)
    k = np.arange(-reach, reach + 1)
    one = np.exp(-(k**2) / (2 * scale**2))
    one /= one.sum()
    likelihood, mass = np.ones(1), np.ones(1)
    for d in shifts:
        moved = np.exp(-((k - d) ** 2) / (2 * scale**2))
        moved /= np.exp(-(np.arange(-reach - d, reach + d + 1) ** 2) / (2 * scale**2)).sum()
        likelihood, mass = np.outer(likelihood, moved).ravel(), np.outer(mass, one).ravel()
    return float(np.maximum(likelihood - np.exp(epsilon) * mass, 0).sum())


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0])
def test_two_coordinates_cost_what_the_product_costs(epsilon):
    noise = CoordinateNoise(scale=Fraction(64), sensitivity=28, coordinates=2)
    delta = DiscreteGaussian(scale=noise.loss().scale).delta_at(epsilon, sensitivity=noise.loss().sensitivity)
    worst = _hockey_stick(64, (28, 28), epsilon)
    assert worst <= delta <= 1.3 * worst
    for shifts in product((0, 12, 28), repeat=2):
        assert _hockey_stick(64, shifts, epsilon) <= delta


@pytest.mark.parametrize("coordinates", [1, 4, 25])
def test_price_is_that_of_real_noise_on_a_vector(coordinates):
    noise = CoordinateNoise.for_privacy(2.0, delta=1e-5, sensitivity=2048, coordinates=coordinates)
    real = gaussian_scale(2.0, delta=1e-5, sensitivity=2048 * coordinates**0.5)
    assert float(noise.scale) == pytest.approx(real, rel=1e-4)
    assert noise.guarantee(unit=Unit.RECORD, delta=1e-5).epsilon <= 2.0


def test_composition_of_the_coordinates_agrees():
    noise = CoordinateNoise(scale=Fraction(400), sensitivity=50, coordinates=9)
    one = DiscreteGaussian(scale=noise.scale).guarantee(sensitivity=50, unit=Unit.RECORD, delta=1e-6)
    together = noise.guarantee(unit=Unit.RECORD, delta=1e-6).epsilon
    composed = compose([one] * 9, delta=1e-6).epsilon
    assert together <= composed <= together + 1e-3


def test_control_pricing_one_coordinate_for_all_is_too_cheap():
    noise = CoordinateNoise(scale=Fraction(16), sensitivity=7, coordinates=2)
    assert DiscreteGaussian(scale=noise.scale).delta_at(0.3, sensitivity=7) < _hockey_stick(16, (7, 7), 0.3)


def test_small_scales_are_refused():
    with pytest.raises(InvalidInput, match="make the grid's step smaller"):
        CoordinateNoise(scale=Fraction(3), sensitivity=1, coordinates=2)


@pytest.mark.parametrize("coordinates", [2, 3, 7, 1000])
def test_a_root_that_is_not_rational_is_taken_low(coordinates):
    noise = CoordinateNoise.for_privacy(1.0, delta=1e-6, sensitivity=2048, coordinates=coordinates)
    loss = noise.loss()
    g = coordinates * 2048 // loss.sensitivity
    assert coordinates * noise.scale**2 - (g * loss.scale) ** 2 >= (16 * g) ** 2
    assert noise.guarantee(unit=Unit.RECORD, delta=1e-6).epsilon <= 1.0
