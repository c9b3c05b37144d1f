"""The interface of every rule: the numbers that it makes of a column, and their public ranges."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput

__all__ = ["Column", "ColumnRule", "EncodedColumn", "Matrix", "check_distinct"]

Column: TypeAlias = pa.Array | pa.ChunkedArray
Matrix = NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedColumn:
    """A column of numbers that a rule makes.

    Parameters
    ----------
    measured
        Whether it is a quantity, whose range is scaled to [-1, 1]; indicators, sines and cosines are not scaled.
    reach
        Scaling clips values to this many halves of the range from its middle.
    """

    name: str
    low: float = 0.0
    high: float = 1.0
    measured: bool = False
    reach: float = 1.0

    @property
    def middle(self) -> float:
        """The value that scaling maps to 0."""
        return (self.low + self.high) / 2 if self.measured else 0.0

    @property
    def half(self) -> float:
        """The distance from the middle that scaling maps to 1."""
        return (self.high - self.low) / 2 if self.measured else 1.0


@dataclass(frozen=True, kw_only=True)
class ColumnRule(ABC):
    """The rule by which one column becomes numbers.

    Parameters
    ----------
    gaps
        Whether a 0/1 column "NAME is missing" is added. Without it a gap only becomes the middle of a range, or none
        of the words.
    """

    kind: ClassVar[str]

    name: str
    gaps: bool = False

    @property
    def encoded(self) -> tuple[EncodedColumn, ...]:
        """The columns of numbers that this one becomes."""
        missing = [EncodedColumn(name=f"{self.name} is missing")] if self.gaps else []
        return (*self._encoded(), *missing)

    def encode(self, column: Column) -> Matrix:
        """Return those numbers, one line per row, in their own units; none is missing or infinite."""
        known = self._encode(column)
        if not self.gaps:
            return known
        return np.column_stack([known, self._missing(column)])

    def _missing(self, column: Column) -> Matrix:
        """Return 1 for each missing value, 0 for the others."""
        return np.asarray(pc.is_null(column, nan_is_null=True)).astype(np.float64)

    @abstractmethod
    def _encoded(self) -> tuple[EncodedColumn, ...]: ...

    @abstractmethod
    def _encode(self, column: Column) -> Matrix: ...


def check_distinct(names: Sequence[str]) -> Sequence[str]:
    """Return the names of the columns of a matrix, or raise if two are the same."""
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise InvalidInput(f"must not make two columns named {twice!r}; rename one of them", field="features")
    return names
