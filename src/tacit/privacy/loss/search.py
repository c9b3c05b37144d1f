"""Searches and conversions that never understate the privacy cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, Context, Decimal

import mpmath

__all__ = ["PRECISE", "as_delta", "least_enough", "neat_up"]

PRECISE = 2.0**-50
"""Relative width at which a search ends."""

_NEAR = 1e-9


def least_enough(enough: Callable[[float], bool], *, start: float) -> float:
    """Return the least positive number that is enough, or one just above it."""
    upper = start
    while not enough(upper):
        upper *= 2
    lower = upper / 2
    while lower > 0 and enough(lower):
        lower, upper = lower / 2, lower
    while upper - lower > PRECISE * upper:
        middle = (lower + upper) / 2
        lower, upper = (lower, middle) if enough(middle) else (middle, upper)
    return upper


def neat_up(value: float) -> float:
    """Return the number of six digits just above ``value`` if there is one, else ``value``.

    Noise made for epsilon 1 then costs 1 and not 0.9999999999993; noise made for 1/3 costs no more than that.
    """
    neat = float(Context(prec=6, rounding=ROUND_CEILING).create_decimal(Decimal(repr(value))))
    return neat if neat <= value * (1 + _NEAR) else value


def as_delta(value: mpmath.mpf) -> float:
    """Return a float in [0, 1] that is not below ``value``, nor is the decimal it prints, unless value > 1."""
    return min(1.0, math.nextafter(max(0.0, float(value)), math.inf))
