"""The variance of a Gaussian loss that stands for another loss, as long as some Gaussian loss is kept in reserve.

Proof: docs/proofs/filter.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import mpmath
from mpmath.ctx_mp import MPContext

from tacit.privacy.loss.tails import context

__all__ = ["largest_variance", "lattice_variance", "response_variance"]

_ABOVE = 1 + 1e-9
_LARGEST = 100.0  # a larger pure epsilon has no such variance: 240 bits would not tell its distance from 1
_EXTRA = 1e-3  # of a discrete Gaussian over the real one


@lru_cache(maxsize=4096)
def response_variance(epsilon: float, *, reserve: float) -> float:
    """Return the least v for which a Gaussian loss of variance v stands for a response of this epsilon, rounded up.

    Each beside a Gaussian loss of variance ``reserve``, the two then have the same total variation distance.

    Examples
    --------
    >>> round(response_variance(0.01, reserve=0.01) * 1e4, 2)
    1.0
    >>> round(response_variance(0.01, reserve=1e-12) * 1e4, 2)  # without a reserve pi/2 times as much
    1.57
    """
    if epsilon == 0:
        return 0.0
    if epsilon > _LARGEST:
        return math.inf
    mp = context()
    e = mp.mpf(epsilon)
    rest = 2 / (1 + mp.exp(e)) * (1 - _delta(mp, e, mp.mpf(reserve)))  # 1 - the distance
    deviations = -_quantile(mp, rest / 2)
    return float(4 * deviations**2 - reserve) * _ABOVE


def lattice_variance(shift: Fraction, scale: Fraction, *, reserve: float) -> float:
    """Return the same of discrete Gaussian noise: a little over the real one's, infinite where that is not proved.

    Parameters
    ----------
    shift
        The sensitivity in standard deviations.
    """
    s = float(shift)
    total, step = s * s + reserve, s / float(scale)  # the losses are on a lattice with this step
    joint = s * s * reserve / total
    ripple = 4 * math.exp(-2 * (math.pi**2) * joint / step**2) if joint > step**2 / 4 else math.inf
    extra = _EXTRA * s * s
    enough = ripple <= min(extra / total / 16, extra * step / (20 * s * s * math.sqrt(total)))
    return (s * s + extra) * _ABOVE if enough else math.inf


def largest_variance(epsilon: float, *, delta: float) -> float:
    """Return the largest variance of a Gaussian loss that is (epsilon, delta)-private, rounded down."""
    mp = context()
    e, target = mp.mpf(epsilon), mp.mpf(delta)
    low, high = 0.0, 1.0
    while _delta(mp, e, mp.mpf(high)) <= target:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _delta(mp, e, mp.mpf(middle)) <= target else (low, middle)
    return low


def _delta(mp: MPContext, epsilon: mpmath.mpf, variance: mpmath.mpf) -> mpmath.mpf:
    """The least delta of a Gaussian loss at epsilon (Balle and Wang 2018, Theorem 8)."""
    s = mp.sqrt(variance)
    return mp.ncdf(s / 2 - epsilon / s) - mp.exp(epsilon) * mp.ncdf(-s / 2 - epsilon / s)


def _quantile(mp: MPContext, mass: mpmath.mpf) -> mpmath.mpf:
    """The point of a standard bell with this mass below it, by Newton's method on the logarithm."""
    x = -mp.sqrt(max(-2 * mp.log(2 * mass), mp.mpf(0)))
    for _ in range(200):
        below = mp.ncdf(x)
        move = below * mp.log(below / mass) / mp.npdf(x)
        x -= move
        if abs(move) < mp.mpf(2) ** -200 * (1 + abs(x)):
            break
    return x
