"""Uniform bits in digits of 16, and the exact comparison of an endless uniform number with a threshold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["BASE_BITS", "below", "uniform_digits", "uniform_words"]

BASE_BITS = 16
"""Bits of one digit: few, because a comparison is decided by the first digit but once in 2^16."""

Rows = slice | NDArray[np.int64]
Digit = Callable[[int, Rows], "int | NDArray[np.uint16]"]


def uniform_words(count: int, *, rng: np.random.Generator) -> NDArray[np.uint64]:
    """Draw ``count`` uniform 64-bit words."""
    return rng.integers(0, 2**64 - 1, size=count, dtype=np.uint64, endpoint=True)


def uniform_digits(count: int, *, rng: np.random.Generator) -> NDArray[np.uint16]:
    """Draw ``count`` uniform 16-bit digits, four from each word."""
    words = uniform_words(-(-count // 4), rng=rng)
    # the byte order is fixed so that a seed means the same draws on every machine
    return words.astype("<u8", copy=False).view("<u2")[:count].astype(np.uint16, copy=False)


def below(size: int, *, digit: Digit, levels: int | None, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Compare uniform numbers in [0, 1) with thresholds written in base 2^16, digit by digit, until decided.

    Entry i is True with probability exactly sum over l of digit(l)_i 2^(-16 (l + 1)).

    Parameters
    ----------
    digit
        (level, rows) -> that digit of the threshold of those rows (one for all, or one each).
    levels
        Number of digits; None if they never end.
    """
    threshold = digit(0, slice(None))
    drawn = uniform_digits(size, rng=rng)
    result = drawn < threshold
    tied = np.flatnonzero(drawn == threshold)
    level = 1
    while tied.size and level != levels:
        threshold = digit(level, tied)
        drawn = uniform_digits(tied.size, rng=rng)
        result[tied] = drawn < threshold
        tied = tied[drawn == threshold]
        level += 1
    return result
