"""Common parts of the two integer samplers: a scale that fits int64 arithmetic, and rejection in blocks."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import exact

__all__ = ["LIMIT", "Shape", "draw_accepted", "exact_positive", "representable_scale"]

LIMIT = 1 << 52
"""Largest numerator and denominator of a scale."""

_BLOCK = 1 << 16  # candidates at once: their arrays stay in the processor's cache

Shape = int | tuple[int, ...]


def representable_scale(scale: Fraction | float) -> Fraction:
    """Return the scale itself if its numerator and denominator are at most 2^52, else one just above it."""
    value = exact_positive(scale, name="scale")
    if value > LIMIT:
        power = value.numerator.bit_length() - value.denominator.bit_length()  # a float may not hold it
        raise InvalidInput(
            f"must be at most 2^52, got about 2^{power}; take a larger epsilon or larger units", field="scale"
        )
    if max(value.numerator, value.denominator) <= LIMIT:
        return value
    denominator = LIMIT if value <= 1 else math.floor(LIMIT / value)
    return Fraction(math.ceil(value * denominator), denominator)


def draw_accepted(
    size: Shape,
    *,
    propose: Callable[[int, np.random.Generator], NDArray[np.int64]],
    chance: float,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Collect ``size`` accepted draws; ``propose`` makes candidates and returns those it accepts, in order.

    The first accepted candidates of an independent sequence are independent draws of the accepted distribution.

    Parameters
    ----------
    size
        A number or a shape.
    propose
        (count, rng) -> the accepted among count independent candidates.
    chance
        About the chance of acceptance; it changes the speed only.
    """
    total = math.prod(size) if isinstance(size, tuple) else int(size)
    result = np.empty(total, dtype=np.int64)
    done = 0
    while done < total:
        wanted = int((total - done) / chance * 1.02) + 8
        accepted = propose(min(wanted, _BLOCK), rng)[: total - done]
        result[done : done + len(accepted)] = accepted
        done += len(accepted)
    return result.reshape(size)


def exact_positive(value: Fraction | float, *, name: str) -> Fraction:
    """Return a number as the decimal that it prints, or raise if it is not finite and > 0."""
    if value <= 0 or not (isinstance(value, Fraction) or math.isfinite(value)):  # a float may not hold a fraction
        raise InvalidInput(f"{name} must be a finite number > 0, got {value!r}")
    return exact(value)
