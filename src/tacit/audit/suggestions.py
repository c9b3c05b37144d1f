"""Suggestions for a first plan: the label, the columns that an attacker may know, and their public rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.data import Encoder
from tacit.data.encoder import CategoryColumn, DateColumn, NumberColumn
from tacit.data.encoder.kinds import days_of, numbers_of
from tacit.data.encoder.typical import typical_values
from tacit.labels.releases.row_order import follows_order

__all__ = ["RowOrder", "Suggestions", "matching_columns", "suggest_label"]

_FEW = 20
_LEAST_ROWS = 10  # of a word that a plan names
_LEAST_BAG = 30  # rows: half of the table is protected, and a bag must have enough of them


class RowOrder(Enum):
    """The order in which labels are released, by what the order of the rows says about them."""

    RANDOM = "nothing: as they are"
    SHUFFLED = "labels follow it: in random order, matched to rows by their columns"
    KEPT = "labels follow it, and no columns tell the rows apart"

    @classmethod
    def of(cls, table: pa.Table, label: str) -> RowOrder:
        """Survey the labels, and whether other columns distinguish the rows.

        Examples
        --------
        >>> table = pa.table({"id": range(90), "age": [40] * 90, "ill": ["no"] * 60 + ["yes"] * 30})
        >>> RowOrder.of(table, "ill").name, RowOrder.of(table.drop_columns("id"), "ill").name
        ('SHUFFLED', 'KEPT')
        """
        if not follows_order(table[label]):
            return cls.RANDOM
        others = matching_columns(table, label)
        apart = others and table.group_by(others).aggregate([]).num_rows == table.num_rows
        return cls.SHUFFLED if apart else cls.KEPT


def matching_columns(table: pa.Table, label: str) -> list[str]:
    """Return the columns that can be released to match labels to rows: a release has its own column ``label``."""
    return [
        field.name
        for field in table.schema
        if field.name not in (label, "label") and not pa.types.is_nested(field.type)
    ]


def suggest_label(table: pa.Table) -> str:
    """Return the column that is most likely the label: the last one with 2 to 20 values, else the last.

    Examples
    --------
    >>> suggest_label(pa.table({"age": range(30), "clicked": [0, 1] * 15, "note": [None] * 30}))
    'clicked'
    """
    few = [name for name in table.column_names if 2 <= _values(table[name]) <= _FEW]
    return str((few or table.column_names)[-1])


@dataclass(frozen=True, kw_only=True, eq=False)
class Suggestions:
    """Suggested rules for the columns of a table, for a plan that its owner then edits.

    Parameters
    ----------
    table
        The rows that ranges and words come from: public rows, or private ones, which the plan then states.
    features
        The columns to use; all but the label if the user named none.
    chosen
        Whether a user named them: then none is left out.
    public
        Whether the rows are public; ranges of private rows leave out values far from the rest.

    Examples
    --------
    >>> table = pa.table({"id": range(60), "age": [31, 64] * 30, "ward": ["A", "B", "C"] * 20})
    >>> found = Suggestions(table=table, features=table.column_names)
    >>> found.features_used, found.left_out
    (('age', 'ward'), (('id', 'an id: integers that differ in every row'),))
    >>> found.ranges, found.categories
    ({'age': (0, 70)}, {'ward': ('A', 'B', 'C')})
    """

    table: pa.Table
    features: Sequence[str]
    chosen: bool = False
    public: bool = False

    @cached_property
    def _encoder(self) -> Encoder:
        return Encoder.fitted(self.table, self.features, chosen=self.chosen)

    @property
    def features_used(self) -> tuple[str, ...]:
        """The columns that can predict something for other rows."""
        return self._encoder.columns()

    @property
    def left_out(self) -> tuple[tuple[str, str], ...]:
        """The other columns, each with the reason."""
        return self._encoder.left_out

    @cached_property
    def ranges(self) -> dict[str, tuple[float, float] | tuple[date, date]]:
        """A range around the typical values of each column of numbers or dates."""
        return {
            rule.name: (_years if isinstance(rule, DateColumn) else _range)(self._typical(rule))
            for rule in self._measured
            if not pa.types.is_time(self.table[rule.name].type)  # whose range is a day
        }

    @cached_property
    def clipped(self) -> dict[str, int]:
        """How many values of a column are far outside the rest, so that its range does not cover them."""
        counts = {rule.name: len(self._known(rule)) - len(self._typical(rule)) for rule in self._measured}
        return {name: count for name, count in counts.items() if count}

    @cached_property
    def codes(self) -> dict[str, tuple[str, ...]]:
        """The values of a column that likely stand for a gap, such as -999, so that its range does not cover them."""
        return {
            rule.name: tuple(str((_date if isinstance(rule, DateColumn) else _plain)(code)) for code in rule.codes)
            for rule in self._measured
            if rule.codes
        }

    @cached_property
    def categories(self) -> dict[str, tuple[str, ...]]:
        """The words of each text column with few words; a word of a handful of rows would identify people."""
        words = {
            rule.name: self._shared_words(rule.name) for rule in self._encoder.rules if isinstance(rule, CategoryColumn)
        }
        return {name: found for name, found in words.items() if 0 < len(found) <= _FEW}

    @cached_property
    def gaps(self) -> tuple[str, ...]:
        """The columns with missing values."""
        missing = (
            name for name in self.features_used if pc.any(pc.is_null(self.table[name], nan_is_null=True)).as_py()
        )
        return tuple(missing)

    @property
    def bags(self) -> tuple[str, ...]:
        """One or two columns whose values many rows share, which suit totals."""
        values = {name: _values(self.table[name]) for name in self.features_used}
        few = sorted((name for name in values if 2 <= values[name] <= _FEW), key=lambda name: values[name])
        return tuple(name for name in few if self._largest_bag(name) >= _LEAST_BAG)[:2]

    @property
    def _measured(self) -> list[NumberColumn]:
        return [rule for rule in self._encoder.rules if isinstance(rule, NumberColumn)]

    def _known(self, rule: NumberColumn) -> NDArray[np.float64]:
        column = self.table[rule.name]
        values = (days_of if isinstance(rule, DateColumn) else numbers_of)(column, name=rule.name)
        return values[np.isfinite(values) & ~np.isin(values, rule.codes)]

    def _typical(self, rule: NumberColumn) -> NDArray[np.float64]:
        return self._known(rule) if self.public else typical_values(self._known(rule))

    def _shared_words(self, name: str) -> tuple[str, ...]:
        counts = pc.value_counts(self.table[name].cast(pa.string()).drop_null())
        return tuple(sorted(one["values"] for one in counts.to_pylist() if one["counts"] >= _LEAST_ROWS))

    def _largest_bag(self, name: str) -> int:
        return int(pc.max(pc.value_counts(self.table[name]).field("counts")).as_py())


def _range(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return a range around the values, each end rounded to one digit away from 0, which is in it.

    Values that are all far from 0, such as years, have a range as wide as theirs, rounded to one digit of that width.
    """
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    width = high - low
    if 0 < width < min(abs(low), abs(high)) and low * high > 0:
        unit = 10.0 ** math.floor(math.log10(width))
        return _plain(_decimal(math.floor(low / unit) * unit)), _plain(_decimal(math.ceil(high / unit) * unit))
    return -_rounded_up(-low) if low < 0 else 0, _rounded_up(high) if high > 0 or low >= 0 else 0


def _rounded_up(number: float) -> float:
    if number == 0:
        return 1
    unit = 10.0 ** math.floor(math.log10(number))
    return _plain(_decimal(math.ceil(number / unit) * unit))


def _decimal(number: float) -> float:
    """Return a number without the noise of floating point."""
    return float(f"{number:.12g}")


def _plain(number: float) -> float:
    return int(number) if number.is_integer() else number


def _years(days: NDArray[np.float64]) -> tuple[date, date]:
    """Return the first day of the first year, and the last day of the last, of days since the start of 1970."""
    low, high = (_date(end).year for end in (days.min(), days.max()))
    return date(low, 1, 1), date(high, 12, 31)


def _date(days: float) -> date:
    return date(1970, 1, 1) + timedelta(days=math.floor(days))


def _values(column: pa.ChunkedArray) -> int:
    """Count the distinct values; columns of lists and other types count as none."""
    return 0 if pa.types.is_nested(column.type) else len(column.unique().drop_null())
