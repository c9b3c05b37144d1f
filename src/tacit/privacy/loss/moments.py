"""Moments of a privacy loss, log E_P[e^((order - 1) loss)], rounded up: (order - 1) times the Renyi divergence."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

__all__ = ["gaussian_moment", "laplace_moment", "response_moment", "sampled_moment"]

_ABOVE = 1 + 1e-9
"""Far above the relative rounding of the formulas below, far below what an order is chosen to."""

_LARGE = 600.0  # so that e^it is a float
_POINTS = 16  # of a trapezoidal sum, in the half width of the strip
_MOST = 4_000_000  # points on one side
_DIRECT = 30.0
_ROUNDING = 1e-13


def response_moment(epsilon: float, *, order: float) -> float:
    """Return the moment of randomized response on one bit, log cosh((a - 1/2) e) - log cosh(e/2).

    No mechanism of that pure epsilon has a larger one, because randomized response dominates it.

    Examples
    --------
    >>> round(response_moment(0.01, order=2.0) * 1e4, 3)  # about a (a - 1) epsilon^2 / 2
    1.0
    """
    if order * epsilon > _LARGE:
        return (order - 1) * epsilon * _ABOVE
    odd = math.sinh(order * epsilon / 2) * math.sinh((order - 1) * epsilon / 2)
    return math.log1p(2 * odd / math.cosh(epsilon / 2)) * _ABOVE


def laplace_moment(scale: Fraction, sensitivity: int, *, order: float) -> float:
    """Return the moment of discrete Laplace noise: two atoms, and between them a geometric series.

    Examples
    --------
    >>> laplace_moment(Fraction(2), 1, order=3.0) == response_moment(0.5, order=3.0)
    True
    >>> laplace_moment(Fraction(8), 4, order=3.0) < response_moment(0.5, order=3.0)
    True
    """
    whole, step = float(Fraction(sensitivity) / scale), float(1 / scale)
    pure = response_moment(whole, order=order)
    if sensitivity == 1 or whole * order < 1e-3:  # so small a difference of exponentials would be rounding
        return pure
    rate = (2 * order - 1) * step
    inner = -math.expm1(-step) * math.exp(-rate) * -math.expm1(-rate * (sensitivity - 1)) / -math.expm1(-rate)
    log = math.log((1 + math.exp(-(2 * order - 1) * whole) + inner) / (1 + math.exp(-step)))
    return min(pure, ((order - 1) * whole + log) * _ABOVE + _ROUNDING)


def gaussian_moment(shift: Fraction, *, order: float) -> float:
    """Return the moment of Gaussian noise, real or discrete, for a shift in standard deviations: a (a - 1) shift^2/2.

    References
    ----------
    Mironov (2017), Proposition 7; Canonne, Kamath and Steinke (2020), Proposition 5, for integers.
    """
    return order * (order - 1) * float(shift) ** 2 / 2 * _ABOVE


@lru_cache(maxsize=1024)
def sampled_moment(noise: float, rate: float, *, order: float) -> float:
    """Return the moment of one step on sampled rows: the integral of P^a Q^(1 - a), by a trapezoidal sum.

    P and Q put weight ``rate`` on a bell at 1 and at -1, the rest on one at 0. The proof that the sum is within its
    margin is in docs/proofs/filter.md.
    """
    if rate == 1:
        return gaussian_moment(Fraction(2 / noise), order=order)
    import numpy as np

    s, a = noise, order
    strip = s * min(s / math.sqrt(max(a, 1.0)), 1.0)  # half as wide as where the integrand is analytic and small
    h, reach = strip / _POINTS, 2 * (2 * a - 1) + 14 * s
    if reach / h > _MOST:
        return math.inf
    x = np.arange(-math.ceil(reach / h), math.ceil(reach / h) + 1) * h
    stay, move = math.log1p(-rate), math.log(rate)
    p, q = (np.logaddexp(stay, move + (sign * x - 0.5) / s**2) for sign in (1, -1))
    excess = a * p + (1 - a) * q  # over the bell at 0
    bell = np.log(h / (s * math.sqrt(2 * math.pi))) - x * x / (2 * s * s)
    top = float((bell + excess).max())
    if top > _DIRECT:
        total = top + math.log(float(np.exp(bell + excess - top).sum()))
    else:
        total = math.log1p(max(0.0, float((np.exp(bell) * np.expm1(np.minimum(excess, _LARGE))).sum())))
    return total * _ABOVE + _ROUNDING
