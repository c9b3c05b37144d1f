import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.privacy import InvalidInput
from tacit.privacy.rounding import check_bounds, check_count, check_delta, check_epsilon, exact, format_up, round_up

positive = st.floats(min_value=1e-12, max_value=1e6, allow_nan=False)


def test_three_tenths_are_exact():
    assert 3 * exact(0.1) == exact(0.3)
    assert 0.1 + 0.1 + 0.1 > 0.3  # the float sum this replaces


@given(st.fractions(min_value=0, max_value=1000))
def test_round_up_is_the_least_float_not_below(value):
    result = round_up(value)
    assert exact(result) >= value
    assert result == 0 or exact(math.nextafter(result, -math.inf)) < value


@given(positive, st.integers(min_value=1, max_value=8))
def test_printing_never_understates(value, digits):
    assert Fraction(format_up(value, digits=digits)) >= exact(value)


@pytest.mark.parametrize("bad", [0, -1.0, math.nan, math.inf, "one", None])
def test_epsilon_is_refused(bad):
    with pytest.raises(InvalidInput, match="epsilon must be a finite number > 0"):
        check_epsilon(bad)


@pytest.mark.parametrize("bad", [-1e-9, 1.0, math.nan, "x"])
def test_delta_is_refused(bad):
    with pytest.raises(InvalidInput, match=r"delta must be in \[0, 1\)"):
        check_delta(bad)


@pytest.mark.parametrize("bad", [0, 1.5, True])
def test_count_is_refused(bad):
    with pytest.raises(InvalidInput, match="rows must be an integer >= 1"):
        check_count(bad, name="rows")


@pytest.mark.parametrize("half", [np.float32(0.5), np.float16(0.5), np.float64(0.5), Decimal("0.5"), Fraction(1, 2)])
def test_every_kind_of_half_is_one_half(half):
    assert exact(half) == Fraction(1, 2)


@pytest.mark.parametrize("three", [3, np.int8(3), np.uint64(3), np.float32(3.0)])
def test_every_kind_of_three_is_three(three):
    assert exact(three) == 3


def test_whole_numbers_lose_no_digits():
    assert exact(np.int64(2**62 + 1)) == exact(2**62 + 1) == 2**62 + 1


@pytest.mark.parametrize("value", ["abc", "3", None, math.nan, math.inf, 2.5, True, 0])
def test_what_is_no_count_is_one_sentence(value):
    with pytest.raises(InvalidInput, match="keep must be an integer >= 1, got"):
        check_count(value, name="keep")


def test_what_no_float_holds_is_infinite():
    assert round_up(Fraction(10**400)) == math.inf
    assert round_up(Fraction(2 * 10**308)) == math.inf
    assert round_up(Fraction(10**308)) == 1e308


@pytest.mark.parametrize("power", range(1, 16))
def test_a_delta_is_below_one_in_the_rows_exactly(power):
    """In floats 1e-11 times 10^11 is less than 1."""
    delta = float(f"1e-{power}")
    assert check_delta(delta, rows=10**power - 1) == delta
    with pytest.raises(InvalidInput, match=f"below 1/{10**power},"):
        check_delta(delta, rows=10**power)


@pytest.mark.parametrize(
    ("epsilon", "delta", "field"),
    [(1e-10, 0.0, "epsilon"), (1.1e6, 0.0, "epsilon"), (1.0, 1e-101, "delta"), (None, 1.0, "delta")],
)
def test_epsilon_and_delta_have_bounds_that_they_may_reach(epsilon, delta, field):
    with pytest.raises(InvalidInput, match=r"must be (from 1e-9 to 1e6|0, or from 1e-100 to below 1), got") as refused:
        check_bounds(epsilon, delta)
    assert refused.value.field == field
    for fine in ((1e-9, 0.0), (1e6, 1e-100), (None, 0.9), (1.0, 1e-6)):
        check_bounds(*fine)
