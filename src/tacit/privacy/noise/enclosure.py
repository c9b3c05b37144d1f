"""Rational numbers that enclose e^x and log x, so that comparisons with them are exact."""

from __future__ import annotations

from fractions import Fraction

from mpmath.ctx_iv import MPIntervalContext, ivmpf

__all__ = ["exp_bounds", "log_bounds"]

_GUARD = 32  # bits beyond what was asked for; most are given back as a margin for mpmath's own last bits


def exp_bounds(x: Fraction, *, bits: int) -> tuple[Fraction, Fraction]:
    """Return rationals lo < e^x < hi with hi/lo - 1 < 2^-bits."""
    iv = _context(bits + max(0, (abs(x).numerator // x.denominator).bit_length()))
    return _widened(iv.exp(_interval(iv, x)), bits)


def log_bounds(x: Fraction, *, bits: int) -> tuple[Fraction, Fraction]:
    """Return rationals lo <= log x <= hi, for x > 0, with hi - lo at most about 2^-bits |log x|."""
    iv = _context(bits)
    return _widened(iv.log(_interval(iv, x)), bits)


def _context(bits: int) -> MPIntervalContext:
    iv = MPIntervalContext()  # our own context, because the precision of the shared one belongs to the caller
    iv.prec = bits + _GUARD
    return iv


def _interval(iv: MPIntervalContext, x: Fraction) -> ivmpf:
    return iv.mpf(x.numerator) / iv.mpf(x.denominator)


def _widened(interval: ivmpf, bits: int) -> tuple[Fraction, Fraction]:
    lo, hi = (_fraction(end) for end in interval._mpi_)
    margin = Fraction(1, 2 ** (bits + 4)) * max(abs(lo), abs(hi))
    return lo - margin, hi + margin


def _fraction(raw: tuple[int, int, int, int]) -> Fraction:
    sign, mantissa, exponent, _ = raw
    value = Fraction(int(mantissa)) * Fraction(2) ** exponent
    return -value if sign else value
