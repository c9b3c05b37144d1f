"""The number systems that hosts compute scores in: binary64 and binary32."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["FLOAT64", "Float32", "Float64", "Number", "NumberSystem", "Numbers"]

Number: TypeAlias = Any
"""One number of a precision: a float, or an object such as mpmath.mpf."""


Numbers: TypeAlias = NDArray[Any]
"""An array of a precision's numbers: a float dtype, or objects."""


class NumberSystem(ABC):
    """A number system: how numbers are stored and rounded, and the elementary functions on them.

    Arithmetic on what :meth:`array` returns is plain NumPy arithmetic, done while :meth:`active` is entered.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def bits(self) -> int:
        """Bits of the significand, the leading one included."""

    @property
    @abstractmethod
    def log_smallest(self) -> float:
        """Natural logarithm of the smallest positive normal number; minus infinity if there is none."""

    @property
    def epsilon(self) -> float:
        """Distance from 1 to the next number."""
        return math.ldexp(1.0, 1 - self.bits)

    def active(self) -> AbstractContextManager[object]:
        """Return the context in which arithmetic rounds to this precision."""
        return nullcontext()

    def array(self, values: ArrayLike) -> Numbers:
        """Return ``values`` rounded to this precision."""
        return self._apply("number", np.asarray(values))

    def log(self, x: Numbers) -> Numbers:
        """Return the natural logarithm; minus infinity at 0."""
        return self._apply("log", x)

    def log1p(self, x: Numbers) -> Numbers:
        """Return ln(1 + x)."""
        return self._apply("log1p", x)

    def exp(self, x: Numbers) -> Numbers:
        """Return e^x."""
        return self._apply("exp", x)

    @abstractmethod
    def _apply(self, name: str, x: Numbers) -> Numbers: ...


@dataclass(frozen=True, slots=True)
class Float64(NumberSystem):
    """IEEE binary64, computed by NumPy."""

    bits: ClassVar[int] = 53
    log_smallest: ClassVar[float] = -1022 * math.log(2)

    def _apply(self, name: str, x: Numbers) -> Numbers:
        return _native(name, x, np.float64)


@dataclass(frozen=True, slots=True)
class Float32(NumberSystem):
    """IEEE binary32, computed by NumPy."""

    bits: ClassVar[int] = 24
    log_smallest: ClassVar[float] = -126 * math.log(2)

    def _apply(self, name: str, x: Numbers) -> Numbers:
        return _native(name, x, np.float32)


FLOAT64 = Float64()
"""The precision of every default."""


def _native(name: str, x: Numbers, dtype: type[np.floating[Any]]) -> Numbers:
    if name == "number":
        return x.astype(dtype, order="C")  # the layout decides how NumPy adds
    with np.errstate(divide="ignore", under="ignore", over="ignore"):
        # NumPy's own logarithm, as in scikit-learn: SciPy's differs in the last bit of binary32.
        result: Numbers = getattr(np, name)(x)
    return result
