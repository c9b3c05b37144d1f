import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.privacy import InvalidInput
from tacit.privacy.noise import DiscreteLaplace, NoiseGrid

steps = st.one_of(
    st.integers(-20, 20).map(lambda e: Fraction(2) ** e),
    st.fractions(min_value=Fraction(1, 1000), max_value=100, max_denominator=1000),
)
reals = st.floats(-1e6, 1e6)


def exact_snap(value, step):
    return math.floor(Fraction(value) / step + Fraction(1, 2))


@given(steps, st.lists(reals, min_size=1, max_size=20))
def test_snapping_is_exact(step, values):
    assert NoiseGrid(step=step).snap(values).tolist() == [exact_snap(v, step) for v in values]


@given(steps, st.integers(-(10**6), 10**6), st.integers(-2, 2))
def test_snapping_is_exact_around_halves(step, k, ulps):
    value = float((k + Fraction(1, 2)) * step)
    for _ in range(abs(ulps)):
        value = math.nextafter(value, math.copysign(math.inf, ulps))
    assert NoiseGrid(step=step).snap([value]).tolist() == [exact_snap(value, step)]


@given(steps, reals, reals)
def test_sensitivity_bounds_how_far_a_snapped_value_moves(step, a, b):
    grid = NoiseGrid(step=step)
    moved = abs(Fraction(a) - Fraction(b))
    one, two = grid.snap([a, b]).tolist()
    assert abs(one - two) <= math.ceil(moved / step)
    assert abs(one - two) <= grid.sensitivity(math.nextafter(float(moved), math.inf))


def test_control_rounding_halves_to_even_moves_further_than_the_bound():
    assert np.diff(np.rint([0.5, 1.5])).tolist() == [2.0]
    assert np.diff(NoiseGrid(step=Fraction(1)).snap([0.5, 1.5])).tolist() == [1]


@pytest.mark.parametrize("value", [0.1, 0.3, 0.7])
def test_sensitivity_covers_the_float_and_the_decimal(value):
    assert NoiseGrid(step=Fraction(1, 10)).sensitivity(value) * Fraction(1, 10) >= max(
        Fraction(value), Fraction(repr(value))
    )


def test_sensitivity_is_rounded_up():
    grid = NoiseGrid(step=Fraction(1, 4))
    assert [grid.sensitivity(b) for b in (0.0, 0.25, 0.26, 1.0)] == [0, 1, 2, 4]


def test_clipping_to_public_bounds():
    grid = NoiseGrid(step=Fraction(1, 2))
    assert grid.snap([-9.0, 0.25, 9.0], lower=-1.0, upper=2.0).tolist() == [-2, 1, 4]
    assert grid.snap([-1e300, 1e300], lower=-1.0, upper=2.0).tolist() == [-2, 4]
    assert grid.snap([-9.0, 9.0], lower=-1.0).tolist() == [-2, 18]


@given(steps.filter(lambda s: s.numerator == 1), st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=5))
def test_values_of_a_binary_grid_come_back(step, k):
    grid = NoiseGrid(step=Fraction(1, 2 ** (step.denominator.bit_length() - 1)))
    assert grid.snap(grid.values(np.array(k))).tolist() == k


def test_shapes_and_kinds():
    grid = NoiseGrid(step=0.5)
    assert grid.step == Fraction(1, 2)
    assert grid.snap([[1, 2], [3, 4]]).tolist() == [[2, 4], [6, 8]]
    assert grid.snap([]).tolist() == []
    assert grid.snap(np.float32([0.25])).tolist() == [1]
    assert grid.snap([True, False]).tolist() == [2, 0]


@pytest.mark.parametrize("bad", [[float("nan")], [float("inf")], [-float("inf"), 1.0]])
def test_values_must_be_finite(bad):
    with pytest.raises(InvalidInput, match="values must be finite"):
        NoiseGrid(step=1).snap(bad, lower=0.0, upper=1.0)


@pytest.mark.parametrize("bad", [[1e300], [2.0**52], [-(2.0**53)]])
def test_values_must_be_in_range(bad):
    with pytest.raises(InvalidInput, match="values must lie less than 2\\^52 steps"):
        NoiseGrid(step=1).snap(bad)


@pytest.mark.parametrize("bad", [["a"], [None], [1 + 2j]])
def test_values_must_be_numbers(bad):
    with pytest.raises(InvalidInput, match="values must be real numbers"):
        NoiseGrid(step=1).snap(bad)


def test_large_whole_numbers_are_refused():
    with pytest.raises(InvalidInput, match="at most 2\\^53"):
        NoiseGrid(step=2**20).snap([2**60 + 1])


@pytest.mark.parametrize("step", [0, -1, float("nan"), float("inf")])
def test_step_must_be_positive(step):
    with pytest.raises(InvalidInput, match="step must be a finite number > 0"):
        NoiseGrid(step=step)


@pytest.mark.parametrize("bound", [-1.0, float("nan"), float("inf")])
def test_bound_must_be_finite(bound):
    with pytest.raises(InvalidInput, match="bound must be"):
        NoiseGrid(step=1).sensitivity(bound)


def test_bounds_must_be_in_order():
    with pytest.raises(InvalidInput, match=r"lower must be at most upper, got 2\.0 and 1\.0"):
        NoiseGrid(step=1).snap([0.0], lower=2.0, upper=1.0)


def test_noise_on_a_grid():
    grid = NoiseGrid(step=Fraction(1, 1024))
    noise = DiscreteLaplace.for_epsilon(1.0, sensitivity=grid.sensitivity(1.0))
    values = np.linspace(-1, 3, 50_000)
    noisy = grid.values(grid.snap(values, lower=0.0, upper=1.0) + noise.draw(50_000, rng=np.random.default_rng(0)))
    error = noisy - np.clip(values, 0, 1)
    assert abs(error.mean()) < 6 * math.sqrt(2 / 50_000)
    assert error.var() == pytest.approx(2, rel=0.1)
    assert (noisy * 1024 == np.rint(noisy * 1024)).all()
