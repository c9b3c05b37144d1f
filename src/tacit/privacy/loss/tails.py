"""Sums of e^(-k^2 / 2 s^2) over the integers from m on, with a bound on what is missing."""

from __future__ import annotations

import threading
from fractions import Fraction

import mpmath
from mpmath.ctx_mp import MPContext

__all__ = ["MARGIN", "bell_tail", "bell_total", "context", "number"]

MARGIN = 2.0**-150
"""Relative error granted to mpmath, which works with 240 bits here."""

_DIRECT = 16  # below this scale tails are summed term by term, above by Euler and Maclaurin
_TERMS = 20


class _ThreadPrecision(threading.local):
    """mpmath changes its context's precision while it works, so each thread has one."""

    def __init__(self) -> None:
        self.mp = MPContext()
        self.mp.prec = 240


_LOCAL = _ThreadPrecision()


def context() -> MPContext:
    """Return this thread's mpmath context of 240 bits."""
    return _LOCAL.mp


def number(value: Fraction) -> mpmath.mpf:
    """Return a rational as a number of 240 bits."""
    return context().mpf(value.numerator) / value.denominator


def bell_total(s: Fraction) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Return the sum over all integers and a bound on its error.

    Twice the tail and 1; for large s it is s sqrt(2 pi) (1 + 2 e^(-2 pi^2 s^2) + ...), by Poisson's summation.
    """
    if s < _DIRECT:
        tail, error = _by_terms(1, s)
        return 1 + 2 * tail, 2 * error + MARGIN
    mp = context()
    total = number(s) * mp.sqrt(2 * mp.pi)
    return total, total * MARGIN


def bell_tail(m: int, s: Fraction) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Return the sum over k >= m and a bound on its error."""
    if m <= 0:
        total, error_total = bell_total(s)
        rest, error_rest = bell_tail(1 - m, s)
        return total - rest, error_total + error_rest
    return _by_terms(m, s) if s < _DIRECT else _by_integral(m, s)


def _by_terms(m: int, s: Fraction) -> tuple[mpmath.mpf, mpmath.mpf]:
    mp = context()
    rate = 1 / (2 * number(s) ** 2)
    term = first = mp.exp(-rate * m * m)
    ratio, shrink = mp.exp(-rate * (2 * m + 1)), mp.exp(-2 * rate)
    tail = mp.zero
    while term > first * MARGIN:
        tail += term
        term *= ratio
        ratio *= shrink
    # the ratios of neighbors shrink, so what is left is at most a geometric series
    return tail, term / (1 - ratio) + first * MARGIN


def _by_integral(m: int, s: Fraction) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Euler and Maclaurin's formula with p = 40 for f(t) = e^(-t^2 / 2 s^2), f^(n)(t) = (-1/s)^n He_n(t/s) f(t).

    The remainder is at most 4 (2 pi)^-p times the integral of |f^(p)| over t > m (Lehmer's bound on Bernoulli's
    functions), and that at most s^(1-p) sqrt(2 pi p! f(m)) (Cauchy and Schwarz, and the norm of He_p).
    """
    mp = context()
    scale = number(s)
    x = m / scale
    height = mp.exp(-x * x / 2)
    parts = [scale * mp.sqrt(mp.pi / 2) * mp.erfc(x / mp.sqrt(2)), height / 2]
    before, hermite = mp.one, x  # He_0, He_1
    for j in range(1, _TERMS + 1):
        parts.append(mp.bernoulli(2 * j) / mp.factorial(2 * j) * scale ** (1 - 2 * j) * hermite * height)
        for n in (2 * j - 1, 2 * j):
            before, hermite = hermite, x * hermite - n * before
    p = 2 * _TERMS
    remainder = 4 * (2 * mp.pi) ** -p * scale ** (1 - p) * mp.sqrt(2 * mp.pi * mp.factorial(p) * height)
    return mp.fsum(parts), remainder + mp.fsum(map(abs, parts)) * MARGIN
