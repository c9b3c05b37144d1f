"""A function of one variable written in NumPy, evaluated with its derivative at any precision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from tacit.privacy.errors import InvalidInput
from tacit.scores.losses.precision import FLOAT64, Number, Numbers, NumberSystem

__all__ = ["LEAST_LOGIT", "Function", "derivative", "evaluate", "solve_odd"]

Function: TypeAlias = Callable[[Any], Any]
"""Arithmetic and np.log, np.log1p, np.exp, np.sqrt, np.square, np.power of its one argument."""

_OfT: TypeAlias = Callable[[Numbers, NumberSystem], Numbers]

LEAST_LOGIT = -700.0
"""ln of the least t that is tried: beyond it 1/t leaves binary64."""


def evaluate(function: Function, x: Numbers, *, precision: NumberSystem = FLOAT64) -> Numbers:
    """Return the function's values.

    Examples
    --------
    >>> from papers.score_attacks.losses import ArbitraryPrecision
    >>> exact = ArbitraryPrecision(bits=100)
    >>> evaluate(lambda t: 1 / t - np.log(t), exact.array([1]), precision=exact)
    array([mpf('1.0')], dtype=object)
    """
    return _trace(function, x, precision).value


def derivative(function: Function, x: Numbers, *, precision: NumberSystem = FLOAT64) -> Numbers:
    """Return the function's derivative, by forward differentiation.

    Examples
    --------
    >>> derivative(lambda v: v * np.log(v), np.array([1.0]))
    array([1.])
    """
    return _trace(function, x, precision).slope


def solve_odd(function: _OfT, targets: Numbers, *, log_floor: float, precision: NumberSystem) -> Numbers:
    """Return the logits s = ln((1 - t)/t) at which a function that is odd in s and increases has given values.

    Bisection in binary64, then the secant method to the precision's last bits.

    Parameters
    ----------
    function
        Of t = 1/(1 + e^s) and the precision.
    targets
        The values wanted.
    log_floor
        ln of the least t.
    precision
        The number system of the result.

    Raises
    ------
    InvalidInput
        If a value is out of the function's range.

    Examples
    --------
    >>> linear = lambda t, precision: 1 - 2 * t
    >>> s = solve_odd(linear, np.array([0.6]), log_floor=-700.0, precision=FLOAT64)
    >>> (1 / (1 + np.exp(s))).round(12)
    array([0.2])
    """
    wanted = targets.astype(np.float64)
    start = np.sign(wanted) * _bisect(function, np.abs(wanted), largest=-log_floor)
    if precision.bits <= FLOAT64.bits:
        return precision.array(start)
    return _secant(function, targets, precision.array(start), precision)


def _bisect(function: _OfT, targets: Numbers, *, largest: float) -> Numbers:
    low, high = np.zeros_like(targets), np.full_like(targets, min(largest, -LEAST_LOGIT))
    top = _at(function, high, FLOAT64)
    if not np.all(targets <= top * (1 + 1e-9)):
        raise InvalidInput(
            f"differences must be within {float(top.min()):.6g}, the range of this loss, "
            f"got {float(targets.max()):.6g}; ask for fewer labels in this query"
        )
    for _ in range(FLOAT64.bits + 12):
        middle = (low + high) / 2
        below = _at(function, middle, FLOAT64) < targets
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return high


def _secant(function: _OfT, targets: Numbers, start: Numbers, precision: NumberSystem) -> Numbers:
    before = start
    now: Numbers = start + (abs(start) + 1) * precision.array(2.0**-40)
    gap_before = _at(function, before, precision) - targets
    # Each step multiplies the correct bits, 40 at the start, by 1.6.
    for _ in range(4 + 2 * (precision.bits // 40).bit_length()):
        gap = _at(function, now, precision) - targets
        moving = gap != gap_before
        slope = np.where(moving, gap - gap_before, precision.array(1))
        step = np.where(moving, gap * (now - before) / slope, precision.array(0))
        before, gap_before, now = now, gap, now - step
    return now


def _at(function: _OfT, s: Numbers, precision: NumberSystem) -> Numbers:
    one = precision.array(1)
    with np.errstate(over="ignore"):
        return function(one / (one + precision.exp(s)), precision)


def _trace(function: Function, x: Numbers, precision: NumberSystem) -> _Dual:
    with precision.active(), np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        result = function(_Dual(value=x, slope=precision.array(np.ones(x.shape)), precision=precision))
    if isinstance(result, _Dual):
        return result
    constant = precision.array(np.broadcast_to(np.asarray(result), x.shape))
    return _Dual(value=constant, slope=precision.array(np.zeros(x.shape)), precision=precision)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Dual(NDArrayOperatorsMixin):
    """A value and its derivative, closed under the ufuncs of ``_RULES``."""

    value: Numbers
    slope: Numbers
    precision: NumberSystem

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Number, **_: Number) -> _Dual:
        rule = _RULES.get(ufunc.__name__)
        if rule is None or method != "__call__":
            raise InvalidInput(f"the function may use {', '.join(_RULES)}, got np.{ufunc.__name__}")
        value, slope = rule(self.precision, *(self._dual(operand) for operand in inputs))
        return _Dual(value=value, slope=slope, precision=self.precision)

    def _dual(self, operand: Number) -> _Dual:
        if isinstance(operand, _Dual):
            return operand
        constant = self.precision.array(operand)
        return _Dual(value=constant, slope=self.precision.array(0), precision=self.precision)


def _power(m: NumberSystem, base: _Dual, exponent: _Dual) -> tuple[Numbers, Numbers]:
    if np.any(exponent.slope != 0):
        raise InvalidInput("the function may raise its argument to constant powers only")
    one = m.array(1)
    return base.value**exponent.value, exponent.value * base.value ** (exponent.value - one) * base.slope


_RULES: dict[str, Callable[..., tuple[Numbers, Numbers]]] = {
    "add": lambda _, a, b: (a.value + b.value, a.slope + b.slope),
    "subtract": lambda _, a, b: (a.value - b.value, a.slope - b.slope),
    "multiply": lambda _, a, b: (a.value * b.value, a.slope * b.value + a.value * b.slope),
    "divide": lambda _, a, b: (
        a.value / b.value,
        (a.slope * b.value - a.value * b.slope) / (b.value * b.value),
    ),
    "negative": lambda _, a: (-a.value, -a.slope),
    "power": _power,
    "square": lambda _, a: (a.value * a.value, 2 * a.value * a.slope),
    "sqrt": lambda m, a: (a.value ** m.array(0.5), a.slope / (2 * a.value ** m.array(0.5))),
    "log": lambda m, a: (m.log(a.value), a.slope / a.value),
    "log1p": lambda m, a: (m.log1p(a.value), a.slope / (m.array(1) + a.value)),
    "exp": lambda m, a: (m.exp(a.value), m.exp(a.value) * a.slope),
}
