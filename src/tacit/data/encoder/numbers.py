"""Numbers, truth values and dates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from tacit.data.encoder.kinds import days_of, numbers_of
from tacit.data.encoder.rule import Column, ColumnRule, EncodedColumn, Matrix
from tacit.privacy.errors import InvalidInput

__all__ = ["EVERYWHERE", "DateColumn", "FlagColumn", "NumberColumn"]

EVERYWHERE = float(np.finfo(np.float64).max)
"""The reach of a column that nothing clips."""


@dataclass(frozen=True, kw_only=True)
class NumberColumn(ColumnRule):
    """Numbers with a range; a missing or infinite one becomes its middle.

    Parameters
    ----------
    low, high
        The range: public, or one standard deviation around the mean of public rows.
    reach
        How many halves of the range from its middle a scaled value may be; values further away are clipped.
    codes
        Numbers, such as -999, that stand for a missing value.
    """

    kind: ClassVar[str] = "number"

    low: float
    high: float
    reach: float = 1.0
    codes: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not -np.inf < self.low < self.high < np.inf:
            raise InvalidInput(
                f"must be a finite LOW < HIGH for column {self.name!r}, got {self.low!r} and {self.high!r}",
                field="ranges",
            )

    def _encoded(self) -> tuple[EncodedColumn, ...]:
        return (EncodedColumn(name=self.name, low=self.low, high=self.high, measured=True, reach=self.reach),)

    def _encode(self, column: Column) -> Matrix:
        return _filled(self._values(column), (self.low + self.high) / 2)[:, None]

    def _missing(self, column: Column) -> Matrix:
        return np.isnan(self._values(column)).astype(np.float64)

    def _values(self, column: Column) -> Matrix:
        """Return the column in its own units, with NaN for missing values."""
        values = self._measured(column)
        return np.where(np.isin(values, self.codes), np.nan, values) if self.codes else values

    def _measured(self, column: Column) -> Matrix:
        return numbers_of(column, name=self.name)


@dataclass(frozen=True, kw_only=True)
class FlagColumn(ColumnRule):
    """Truth values as 0 and 1; a missing one becomes 1/2."""

    kind: ClassVar[str] = "flag"

    def _encoded(self) -> tuple[EncodedColumn, ...]:
        return (EncodedColumn(name=self.name),)

    def _encode(self, column: Column) -> Matrix:
        if not (pa.types.is_boolean(column.type) or column.null_count == len(column)):
            raise InvalidInput(
                f"column {self.name!r} must be truth values, as its encoder was made for, got {column.type}"
            )
        return _filled(numbers_of(column, name=self.name), 0.5)[:, None]


@dataclass(frozen=True, kw_only=True)
class DateColumn(NumberColumn):
    """Dates, with or without a time: days since the start of 1970, and the month and the weekday as points of a circle.

    A missing date becomes the middle of the range, and the middle of both circles.

    Examples
    --------
    >>> from datetime import date
    >>> rule = DateColumn(name="visit", low=0, high=100)
    >>> [one.name for one in rule.encoded]
    ['visit', 'visit month sine', 'visit month cosine', 'visit weekday sine', 'visit weekday cosine']
    >>> rule.encode(pa.array([date(1970, 1, 5), None])).round(3).tolist()
    [[4.0, 0.0, 1.0, 0.0, 1.0], [50.0, 0.0, 0.0, 0.0, 0.0]]
    """

    kind: ClassVar[str] = "date"

    def _encoded(self) -> tuple[EncodedColumn, ...]:
        circles = [f"{self.name} {part} {side}" for part in ("month", "weekday") for side in ("sine", "cosine")]
        return (*super()._encoded(), *(EncodedColumn(name=name, low=-1.0) for name in circles))

    def _measured(self, column: Column) -> Matrix:
        return days_of(column, name=self.name)

    def _encode(self, column: Column) -> Matrix:
        days = self._values(column)
        known = np.isfinite(days)
        whole = np.floor(np.where(known, days, 0.0)).astype(np.int64)
        months = whole.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12
        turns = np.stack([months / 12, (whole + 3) % 7 / 7])  # the first day of 1970 was a Thursday
        circles = [np.where(known, side(turn), 0.0) for turn in 2 * np.pi * turns for side in (np.sin, np.cos)]
        return np.column_stack([_filled(days, (self.low + self.high) / 2), *circles])


def _filled(values: Matrix, middle: float) -> Matrix:
    known = np.isfinite(values)
    return values if known.all() else np.where(known, values, values.dtype.type(middle))
