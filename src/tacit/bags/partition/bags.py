"""A partition of a table's rows into bags by their features: keys, counts and label totals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.bags.partition.feature import KeyColumn
from tacit.data import open_table, read_rows
from tacit.data.names import check_present
from tacit.privacy.errors import InvalidInput

__all__ = ["Partition", "look_up", "number_keys", "read_columns"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Partition:
    """Rows grouped by the values of some features: for each bag its key, how many rows, and the sum of T(y).

    Parameters
    ----------
    features
        The key columns.
    keys
        One row per bag, one column per feature, named as the feature: its value, or its bucket's number; NULL is a
        key like any other. The row of the bag ``other`` is all NULL and is no key.
    counts
        Rows in each bag: int64 where they are public, else noisy and float64 (they may be below 0).
    totals
        The sum of T(y) over each bag, one column for each target of the loss, noisy if there is a guarantee.
    variance
        The variance of the noise in one total; 0 where totals are exact. Once made to agree, the mean over bags.
    count_variance
        The variance of the noise in one count; 0 where counts are exact. The bag ``other`` has the noise of all the
        counts that were merged into it.
    other
        The bag that small bags were merged into, if there is one: it has the rows that no key fits.
    dropped
        Whether some rows are in no bag, because theirs were too small.

    Examples
    --------
    >>> partition = Partition(features=(KeyColumn("city"),), keys=pa.table({"city": ["bonn", None]}),
    ...                       counts=np.array([3, 1]), totals=np.array([[2.0], [0.0]]))
    >>> len(partition), partition.columns, partition.means.tolist()
    (2, ('city',), [[0.6666666666666666], [0.0]])
    """

    features: tuple[KeyColumn, ...]
    keys: pa.Table
    counts: NDArray[np.int64] | NDArray[np.float64]
    totals: NDArray[np.float64]
    variance: float = 0.0
    count_variance: float = 0.0
    other: int | None = None
    dropped: bool = False

    def __post_init__(self) -> None:
        names = [feature.name for feature in self.features]
        if self.keys.column_names != names:
            raise InvalidInput(
                f"must have the columns {', '.join(names)}, got {', '.join(self.keys.column_names)}", field="keys"
            )
        bags = self.keys.num_rows
        if self.counts.shape != (bags,) or self.totals.ndim != 2 or len(self.totals) != bags:
            raise InvalidInput(
                f"counts and totals must have one row for each of {bags} bags, got shapes {self.counts.shape} and "
                f"{self.totals.shape}"
            )
        if self.other is not None and not 0 <= self.other < bags:
            raise InvalidInput(f"must be the number of one of {bags} bags, got {self.other}", field="other")

    def __len__(self) -> int:
        return int(self.keys.num_rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the key columns."""
        return tuple(feature.name for feature in self.features)

    @property
    def targets(self) -> int:
        """The dimension of T(y)."""
        return int(self.totals.shape[1])

    @property
    def means(self) -> NDArray[np.float64]:
        """The mean of T(y) in each bag, the paper's aggregate label; 0 where the count is not above 0."""
        sizes = np.asarray(self.counts, dtype=np.float64)[:, None]
        return np.divide(self.totals, sizes, out=np.zeros_like(self.totals), where=sizes > 0)

    def covers(self, columns: Sequence[str]) -> bool:
        """Return whether all of ``columns`` are keys, so that a part on them can be learned from these bags.

        A bag of small bags merged into one has many keys: a partition with one covers nothing exactly, but its
        other bags do; see :attr:`other`.
        """
        return set(columns) <= set(self.columns)

    def assign(self, table: object) -> NDArray[np.int64]:
        """Return the number of each row's bag, -1 where it is in none; rows of no key are in ``other``, if there is."""
        rows = read_columns(table, self.columns)
        real = np.arange(len(self)) if self.other is None else np.delete(np.arange(len(self)), self.other)
        keys = self.keys.take(pa.array(real)) if self.other is not None else self.keys
        found = look_up(rows, keys, self.features)
        fallback = -1 if self.other is None else self.other
        return np.where(found < 0, fallback, real[found] if len(real) else fallback).astype(np.int64)

    def check_counts(self, found: NDArray[np.int64]) -> None:
        """Raise if the rows that were found in each bag are not those counted, where counts are exact."""
        wrong = np.flatnonzero(found != self.counts)
        if len(wrong) and not self.count_variance and self.counts.dtype.kind != "f":
            first = int(wrong[0])
            key = ", ".join(f"{name} = {self.keys[name][first].as_py()}" for name in self.columns)
            raise InvalidInput(
                f"must be the rows that the bags were made from: the bag {key} has {int(self.counts[first])} rows, got "
                f"{int(found[first])}",
                field="data",
            )

    def check_rows(self, found: NDArray[np.int64]) -> None:
        """Raise as :meth:`check_counts` does, or if no row is in any bag: there is nothing to learn from then."""
        self.check_counts(found)
        if not found.any():
            raise InvalidInput(
                f"must have rows of the partition ({', '.join(self.columns)}), got none that is in any of its bags",
                field="data",
            )

    def describe(self) -> dict[str, Any]:
        """Return what is public about how the partition was made, as plain JSON."""
        return {
            "features": [feature.to_json() for feature in self.features],
            "bags": len(self),
            "targets": self.targets,
            "variance": self.variance,
            "count_variance": self.count_variance,
            "other": self.other,
            "dropped": self.dropped,
        }


def number_keys(keys: pa.Table) -> NDArray[np.int64]:
    """Return the same number for rows with equal keys, from 0 on; NULL is a key like any other."""
    number = np.zeros(keys.num_rows, dtype=np.int64)
    for column in keys.columns:
        code = column.combine_chunks().dictionary_encode(null_encoding="encode").indices.to_numpy().astype(np.int64)
        # numbered again each time, so that numbers stay below rows x values
        number = np.unique(number * (code.max(initial=0) + 1) + code, return_inverse=True)[1].astype(np.int64)
    return number


def look_up(rows: pa.Table, keys: pa.Table, features: tuple[KeyColumn, ...]) -> NDArray[np.int64]:
    """Return for each row the number of the key that it equals, or -1."""
    if not keys.num_rows:
        return np.full(rows.num_rows, -1, dtype=np.int64)
    bag, row = np.zeros(keys.num_rows, dtype=np.int64), np.zeros(rows.num_rows, dtype=np.int64)
    for feature in features:
        wanted = keys[feature.name].combine_chunks()
        given = _as_type(feature.codes(rows[feature.name]), wanted.type, feature.name)
        values = wanted.unique()
        of_bag = pc.index_in(wanted, value_set=values).to_numpy(zero_copy_only=False).astype(np.int64)
        of_row = pc.fill_null(pc.index_in(given, value_set=values), -1).to_numpy(zero_copy_only=False)
        # pairs (key so far, this value), numbered again each time so that the numbers stay below bags x values
        pairs, bag = np.unique(bag * len(values) + of_bag, return_inverse=True)
        pair = np.where((row < 0) | (of_row < 0), -1, row * len(values) + of_row)
        at = np.searchsorted(pairs, pair)
        row = np.where((at < len(pairs)) & (pairs[np.minimum(at, len(pairs) - 1)] == pair), at, -1)
    number = np.empty(len(bag), dtype=np.int64)
    number[bag] = np.arange(len(bag))
    return np.where(row < 0, -1, number[row])


def _as_type(column: pa.Array, kind: pa.DataType, name: str) -> pa.Array:
    """The column in the type of the keys: a frame may hold integers as floats, because some are missing."""
    if column.type == kind:
        return column
    numeric = (pa.types.is_integer(kind) or pa.types.is_floating(kind)) and (
        pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    )
    if not numeric and not pa.types.is_null(column.type):
        raise InvalidInput(f"column {name!r} must be of type {kind} as in the bags' keys, got {column.type}")
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        raise InvalidInput(f"column {name!r} must be of type {kind} as in the bags' keys, got {column.type}") from None


def read_columns(table: Any, columns: Sequence[str]) -> pa.Table:  # noqa: ANN401
    """Return these columns of all rows."""
    rows = table if isinstance(table, pa.Table) else open_table(table)
    for name in columns:
        check_present(name, rows.column_names if isinstance(rows, pa.Table) else rows.columns, argument="data")
    return rows.select(list(columns)) if isinstance(rows, pa.Table) else read_rows(rows, columns=list(columns))
