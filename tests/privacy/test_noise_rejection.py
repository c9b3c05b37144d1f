from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.privacy import InvalidInput
from tacit.privacy.noise.rejection import LIMIT, draw_accepted, representable_scale


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=LIMIT))
def test_a_scale_is_rounded_up_and_fits(value):
    scale = representable_scale(value)
    assert scale >= value
    assert scale <= value * (1 + Fraction(1, 2**20))
    assert max(scale.numerator, scale.denominator) <= LIMIT


@given(st.integers(1, LIMIT), st.integers(1, LIMIT))
def test_a_scale_that_fits_is_kept(a, b):
    assert representable_scale(Fraction(a, b)) == Fraction(a, b)


@pytest.mark.parametrize("scale", [Fraction(2**60 + 1, 2**60), Fraction(3**50, 2**70), Fraction(2**103, 2**51 + 1)])
def test_awkward_scales_lose_little(scale):
    assert 0 <= representable_scale(scale) / scale - 1 < Fraction(1, 2**45)


@pytest.mark.parametrize("scale", [LIMIT + 1, Fraction(10**400), float("nan"), float("inf"), 0, -1])
def test_impossible_scales_are_refused(scale):
    with pytest.raises(InvalidInput, match="scale must be"):
        representable_scale(scale)


@pytest.mark.parametrize("size", [0, 1, 7, (3, 5), 100_000])
def test_the_size_is_filled_in_order(size):
    source = iter(range(10**7))

    def propose(count, rng):
        return np.array([next(source) for _ in range(count)], dtype=np.int64)

    drawn = draw_accepted(size, propose=propose, chance=0.5, rng=None)
    assert drawn.shape == (size if isinstance(size, tuple) else (size,))
    assert (np.diff(drawn.ravel()) > 0).all()


def test_blocks_stay_small():
    asked = []

    def propose(count, rng):
        asked.append(count)
        return np.zeros(count // 2, dtype=np.int64)

    draw_accepted(10**6, propose=propose, chance=0.5, rng=None)
    assert max(asked) <= 2**16
