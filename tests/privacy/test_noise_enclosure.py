from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.privacy.noise.enclosure import exp_bounds, log_bounds


def taylor_exp(x, *, terms=60):
    """Rational bounds on e^x, x >= 0, from (e^(x/n))^n: partial sums below, a geometric rest above."""
    n = max(1, int(x) + 1)
    y = x / n
    term, lower = Fraction(1), Fraction(0)
    for k in range(terms):
        lower += term
        term = term * y / (k + 1)
    return lower**n, (lower + 2 * term) ** n


rationals = st.fractions(min_value=0, max_value=12, max_denominator=1000)


@given(rationals)
@settings(deadline=None, max_examples=40)
def test_exp_is_enclosed(x):
    lo, hi = exp_bounds(x, bits=120)
    below, above = taylor_exp(x)
    assert lo <= above
    assert below <= hi
    assert lo < hi <= lo * (1 + Fraction(1, 2**120))


@given(rationals)
@settings(deadline=None, max_examples=20)
def test_bounds_at_more_bits_lie_inside(x):
    coarse, fine = exp_bounds(x, bits=64), exp_bounds(x, bits=256)
    assert coarse[0] < fine[0] < fine[1] < coarse[1]


@given(rationals)
@settings(deadline=None, max_examples=20)
def test_negative_exponents_are_reciprocals(x):
    (lo, hi), (up, down) = exp_bounds(x, bits=100), exp_bounds(-x, bits=100)
    assert up * lo <= 1 <= down * hi


@pytest.mark.parametrize("x", [Fraction(1, 3), Fraction(5), Fraction(10**9 + 1, 10**9)])
def test_log_is_the_inverse(x):
    lo, hi = log_bounds(x, bits=100)
    assert exp_bounds(lo, bits=200)[0] < x < exp_bounds(hi, bits=200)[1]
    assert abs(hi - lo) <= abs(hi) / 2**95


def test_control_a_float_is_not_a_bound():
    import math

    lo, hi = exp_bounds(Fraction(1), bits=100)
    assert not lo < Fraction(math.exp(1)) < hi
