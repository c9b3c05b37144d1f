"""Exact epsilons: a float is read as the shortest decimal that prints it, and results round up, never down."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import SupportsIndex

from tacit.privacy.errors import InvalidInput

__all__ = [
    "MOST_EPSILON",
    "check_bounds",
    "check_count",
    "check_delta",
    "check_epsilon",
    "exact",
    "format_up",
    "round_up",
]


_LEAST_EPSILON, MOST_EPSILON = 1e-9, 1e6  # of a plan or a budget
_LEAST_DELTA = 1e-100


def exact(value: float | int | Fraction) -> Fraction:
    """Read a number as the decimal that a person typed, so that three charges of 0.1 are exactly 0.3.

    Examples
    --------
    >>> 3 * exact(0.1) == exact(0.3)
    True
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, SupportsIndex):
        return Fraction(int(value))
    return Fraction(repr(float(value)))  # float32 and Decimal too, which are neither float nor int


def round_up(value: Fraction | float) -> float:
    """Return the least float whose decimal reading is not below ``value``; infinity above the largest."""
    if isinstance(value, float) and not math.isfinite(value):
        return value
    try:
        result = float(value)
    except OverflowError:
        return math.inf
    while math.isfinite(result) and exact(result) < value:
        result = math.nextafter(result, math.inf)
    return result


def format_up(value: float, *, digits: int = 4) -> str:
    """Print an epsilon or a delta with few digits, rounded up."""
    if not math.isfinite(value):
        return str(value)
    rounded = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(Decimal(repr(float(value))))
    if rounded == 0:
        return "0"
    text = f"{rounded.normalize():f}"
    return text if 1e-4 <= abs(rounded) < 1e6 else f"{rounded.normalize():e}"


def check_epsilon(epsilon: float, *, name: str = "epsilon", zero: bool = False) -> float:
    """Return ``epsilon`` as a float, or raise if it is not a finite number > 0 (>= 0 with ``zero``)."""
    rule = "a finite number >= 0" if zero else "a finite number > 0"
    try:
        number = float(epsilon)
    except (TypeError, ValueError):
        raise InvalidInput(f"must be {rule}, got {epsilon!r}", field=name) from None
    if not math.isfinite(number) or number < 0 or (number == 0 and not zero):
        raise InvalidInput(f"must be {rule}, got {epsilon!r}", field=name)
    return number


def check_delta(delta: float, *, name: str = "delta", zero: bool = True, rows: int | None = None) -> float:
    """Return ``delta`` as a float, or raise if it is not in [0, 1) ((0, 1) without ``zero``), or not below 1/rows.

    A delta of 1/rows allows a mechanism that publishes one row, drawn at random.
    """
    rule = "in [0, 1)" if zero else "in (0, 1)"
    try:
        number = float(delta)
    except (TypeError, ValueError):
        raise InvalidInput(f"must be {rule}, got {delta!r}", field=name) from None
    if not 0 <= number < 1 or (number == 0 and not zero):
        raise InvalidInput(f"must be {rule}, got {delta!r}", field=name)
    if rows is not None and exact(number) * rows >= 1:
        raise InvalidInput(
            f"must be below 1/{rows}, for {rows:,} rows, got {delta!r}: a larger delta allows publishing a "
            "whole record",
            field=name,
        )
    return number


def check_bounds(epsilon: float | None, delta: float, *, name: str = "epsilon") -> None:
    """Raise unless epsilon and delta are so large, and so small, that arithmetic and sense end nowhere near them.

    Examples
    --------
    >>> check_bounds(1e300, 0.0)
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: epsilon must be from 1e-9 to 1e6, got 1e+300
    >>> check_bounds(1.0, 1e-320)
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: delta must be 0, or from 1e-100 to below 1, got 1e-320
    """
    if epsilon is not None and not _LEAST_EPSILON <= epsilon <= MOST_EPSILON:
        raise InvalidInput(f"must be from 1e-9 to 1e6, got {epsilon!r}", field=name)
    if delta and not _LEAST_DELTA <= delta < 1:
        raise InvalidInput(f"must be 0, or from 1e-100 to below 1, got {delta!r}", field="delta")


def check_count(value: int, *, name: str, least: int = 1) -> int:
    """Return ``value`` as an int, or raise if it is not an integer >= ``least``."""
    try:
        whole = not isinstance(value, bool) and int(value) == value and value >= least
    except (TypeError, ValueError, OverflowError):  # words, None, NaN, infinity
        whole = False
    if not whole:
        raise InvalidInput(f"must be an integer >= {least}, got {value!r}", field=name)
    return int(value)
