import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.privacy.loss.search import as_delta, least_enough, neat_up


@given(st.floats(1e-12, 1e12), st.floats(1e-12, 1e12))
def test_the_least_number_is_found_from_any_start(target, start):
    found = least_enough(lambda x: x >= target, start=start)
    assert target <= found <= target * (1 + 1e-12)


@given(st.floats(1e-300, 1e300))
def test_neat_numbers_are_not_below(value):
    assert value <= neat_up(value) <= value * (1 + 1.1e-9)


@pytest.mark.parametrize("neat", [1.0, 0.1, 2.5, 0.001, 12.3456])
def test_a_number_just_below_a_neat_one_becomes_it(neat):
    assert neat_up(neat * (1 - 1e-13)) == neat_up(neat) == neat
    assert neat_up(neat * (1 - 1e-8)) < neat


@pytest.mark.parametrize(("value", "delta"), [(-1, 5e-324), (2, 1.0)])
def test_delta_stays_in_range(value, delta):
    assert as_delta(mpmath.mpf(value)) == delta


def test_delta_is_rounded_up():
    with mpmath.workprec(200):
        third = mpmath.mpf(1) / 3
        assert third < as_delta(third) < third + mpmath.mpf(2) ** -52
