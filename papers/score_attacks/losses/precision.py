"""The number systems of the paper's models: any floating-point format, and any precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import gmpy2
import mpmath
import numpy as np

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count
from tacit.scores.losses.precision import Number, Numbers, NumberSystem

__all__ = ["ArbitraryPrecision", "FloatingPoint", "exact_fraction"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FloatingPoint(NumberSystem):
    """A binary floating-point format: every operation is correctly rounded to it (MPFR), with subnormals.

    Results beyond the largest number are infinite, as in IEEE 754.

    Parameters
    ----------
    exponent_bits, fraction_bits
        Besides one sign bit; 11 and 52 is binary64, 5 and 10 is binary16.

    References
    ----------
    Aggarwal et al. (2021), Appendices A.1 and D: the model FPA(phi).

    Examples
    --------
    >>> FloatingPoint(exponent_bits=8, fraction_bits=7).array([0.1])
    array([mpfr('0.1001',8)], dtype=object)
    """

    exponent_bits: int
    fraction_bits: int

    def __post_init__(self) -> None:
        check_count(self.exponent_bits, name="exponent_bits", least=2)
        check_count(self.fraction_bits, name="fraction_bits", least=1)

    @classmethod
    def of_bits(cls, bits: int) -> FloatingPoint:
        """Return the paper's FPA(phi): one sign bit, the rest split evenly, an odd bit to the fraction."""
        rest = check_count(bits, name="bits", least=5) - 1
        return cls(exponent_bits=rest // 2, fraction_bits=rest - rest // 2)

    @property
    def bits(self) -> int:
        """Bits of the significand, the leading one included."""
        return self.fraction_bits + 1

    @property
    def log_smallest(self) -> float:
        """Natural logarithm of the smallest positive normal number."""
        return (2 - (1 << min(self.exponent_bits - 1, 61))) * math.log(2)

    def active(self) -> AbstractContextManager[object]:
        """Return the MPFR context of this format."""
        # MPFR writes numbers as m 2^e with 1/2 <= m < 1, hence the shifts by one; its own exponent has 62 bits.
        largest = 1 << min(self.exponent_bits - 1, 61)
        context: AbstractContextManager[object] = gmpy2.context(
            precision=self.bits, emax=largest, emin=4 - largest - self.bits, subnormalize=True
        )
        return context

    def _apply(self, name: str, x: Numbers) -> Numbers:
        with self.active():
            return _elementwise(_to_mpfr if name == "number" else getattr(gmpy2, name), x)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArbitraryPrecision(NumberSystem):
    """mpmath numbers of ``bits`` bits and unbounded exponent.

    References
    ----------
    Aggarwal et al. (2021), Appendix A.1: the model APA.

    Examples
    --------
    >>> print(ArbitraryPrecision(bits=200).log(np.array([2]))[0])
    0.693147180559945
    """

    log_smallest: ClassVar[float] = -math.inf
    bits: int = field()  # without field() the base's property would be taken for the default

    def __post_init__(self) -> None:
        check_count(self.bits, name="bits", least=2)

    def active(self) -> AbstractContextManager[object]:
        """Return mpmath's context of this precision."""
        context: AbstractContextManager[object] = mpmath.workprec(self.bits)
        return context

    def _apply(self, name: str, x: Numbers) -> Numbers:
        with self.active():
            return _elementwise(_to_mpf if name == "number" else getattr(mpmath, name), x)


def _elementwise(function: Callable[[Any], Any], values: Numbers) -> Numbers:
    result = np.empty(values.shape, dtype=object)
    result[...] = np.frompyfunc(function, 1, 1)(values.astype(object))
    return result


def exact_fraction(value: Number) -> Fraction:
    """Return a finite number of any precision as the rational it is.

    Examples
    --------
    >>> exact_fraction(0.375), exact_fraction(mpmath.mpf(-3))
    (Fraction(3, 8), Fraction(-3, 1))
    """
    finite = mpmath.isfinite(value) if isinstance(value, mpmath.mpf) else math.isfinite(value)
    if not finite:
        raise InvalidInput(f"a number must be finite to be a fraction, got {value}; do predictions have finite losses?")
    if isinstance(value, mpmath.mpf):
        sign, mantissa, exponent, _ = value._mpf_
        magnitude = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
        return -magnitude if sign else magnitude
    numerator, denominator = value.as_integer_ratio()
    return Fraction(int(numerator), int(denominator))


def _to_mpfr(value: Number) -> Number:
    if isinstance(value, mpmath.mpf):
        value = exact_fraction(value) if mpmath.isfinite(value) else float(value)
    return gmpy2.mpfr(gmpy2.mpq(value) if isinstance(value, Fraction) else value)


def _to_mpf(value: Number) -> Number:
    if isinstance(value, gmpy2.mpfr):
        value = exact_fraction(value) if gmpy2.is_finite(value) else float(value)
    return mpmath.mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else mpmath.mpf(value)
