"""Where the rows of a table come from: read in batches, counted and released in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import duckdb
import ibis
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.data.classes import Classes, as_column
from tacit.data.csv_file import fault
from tacit.labels.mechanisms.column import Coding, LabelColumn, Values, count_labels, release_column
from tacit.labels.releases.labels import MissingLabels
from tacit.privacy.errors import InvalidInput

__all__ = ["LABEL", "Source", "TableSource", "declare_classes", "find_classes", "find_values", "released_batch"]

LABEL = "label"
"""The name of the released column, whatever the private one is called."""

_MOST_CLASSES = 1000
_BATCH_ROWS = 1 << 16


@runtime_checkable
class Source(Protocol):
    """A table that is read in batches, by this process or by the workers of a cluster."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""

    @property
    def ordered(self) -> bool:
        """Whether every reading gives the rows in the same order, which labels can be matched by."""

    @property
    def distributed(self) -> bool:
        """Whether workers randomize, each with its own entropy."""

    def distinct(self, label: str, *, most: int) -> pa.Array:
        """Return the different labels, or ``most`` + 1 of them if there are more than ``most``."""

    def count(self, label: str, *, coding: Coding) -> NDArray[np.int64]:
        """Return how many rows each class has, and last how many have no label."""

    def read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Return the rows of some columns, in order."""

    def release(
        self, label: str, *, keep: Sequence[str], column: LabelColumn, missing: MissingLabels, rng: np.random.Generator
    ) -> Iterator[pa.RecordBatch]:
        """Return the kept columns and, last, the released labels; each label is randomized once."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableSource:
    """The rows of an Ibis table, streamed: never more than a few batches in memory.

    Parameters
    ----------
    table
        What ``tacit.data.load_table`` returned.
    batch_rows
        The most rows at a time.

    Examples
    --------
    >>> from tacit.data import load_table
    >>> source = TableSource(table=load_table(pa.table({"x": [1, 2, 3], "y": ["a", "b", "a"]})), batch_rows=2)
    >>> [batch.num_rows for batch in source.read(["x"])]
    [2, 1]
    """

    table: ibis.Table
    batch_rows: int = _BATCH_ROWS

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.table.columns)

    @property
    def ordered(self) -> bool:
        """True for files and frames; another database keeps no order."""
        return bool(self.table.get_backend().name == "duckdb")

    @property
    def distributed(self) -> bool:
        """False: one process draws."""
        return False

    def distinct(self, label: str, *, most: int) -> pa.Array:
        """Return the different labels, or ``most`` + 1 of them if there are more than ``most``.

        Examples
        --------
        >>> from tacit.data import load_table
        >>> source = TableSource(table=load_table(pa.table({"y": ["a", "b", "a", None]})))
        >>> sorted(source.distinct("y", most=10).drop_null().to_pylist())
        ['a', 'b']
        """
        try:
            found = self.table.select(label).distinct().limit(most + 1).to_pyarrow()
        except duckdb.Error as error:
            raise _unreadable(error) from None
        return as_column(found[label])

    def count(self, label: str, *, coding: Coding) -> NDArray[np.int64]:
        """Return how many rows each class has, and last how many have no label.

        Examples
        --------
        >>> from tacit.data import load_table
        >>> source = TableSource(table=load_table(pa.table({"y": ["a", "b", "a", None]})))
        >>> source.count("y", coding=Classes(values=("a", "b")))
        array([2, 1, 1])
        """
        total = np.zeros(len(coding) + 1, dtype=np.int64)
        for batch in self.read([label]):
            total += count_labels(batch.column(0), coding=coding)
        return total

    def read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Return the rows of some columns, in order.

        Examples
        --------
        >>> from tacit.data import load_table
        >>> source = TableSource(table=load_table(pa.table({"x": [1], "y": ["a"]})))
        >>> [batch.to_pydict() for batch in source.read(["y", "x"])]
        [{'y': ['a'], 'x': [1]}]
        """
        try:
            for batch in self.table.select(*columns).to_pyarrow_batches(chunk_size=self.batch_rows):
                if batch.num_rows:
                    yield batch
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise _unreadable(error) from None

    def release(
        self, label: str, *, keep: Sequence[str], column: LabelColumn, missing: MissingLabels, rng: np.random.Generator
    ) -> Iterator[pa.RecordBatch]:
        """Return the kept columns and, last, the released labels; each label is randomized once.

        Examples
        --------
        >>> from tacit.data import load_table
        >>> from tacit.labels.mechanisms.response import RandomizedResponse
        >>> from tacit.labels.mechanisms.column import column_of
        >>> source = TableSource(table=load_table(pa.table({"x": [1, 2], "y": ["a", "b"]})))
        >>> column = column_of(Classes(values=("a", "b")), mechanism=RandomizedResponse(epsilon=4000.0))
        >>> batches = source.release("y", keep=["x"], column=column, missing=MissingLabels.REFUSE,
        ...                          rng=np.random.default_rng(0))
        >>> [batch.to_pydict() for batch in batches]
        [{'x': [1, 2], 'label': ['a', 'b']}]
        """
        for batch in self.read([*keep, label]):
            yield released_batch(batch, column=column, missing=missing, rng=rng)


def released_batch(
    batch: pa.RecordBatch, *, column: LabelColumn, missing: MissingLabels, rng: np.random.Generator
) -> pa.RecordBatch:
    """Return the batch with its last column, the private labels, replaced by released ones.

    Examples
    --------
    >>> from tacit.labels.mechanisms.response import RandomizedResponse
    >>> from tacit.labels.mechanisms.column import column_of
    >>> column = column_of(Classes(values=("a", "b")), mechanism=RandomizedResponse(epsilon=4000.0))
    >>> batch = pa.record_batch({"x": [1, 2], "secret": ["a", "b"]})
    >>> released_batch(batch, column=column, missing=MissingLabels.REFUSE, rng=np.random.default_rng(0)).to_pydict()
    {'x': [1, 2], 'label': ['a', 'b']}
    """
    labels = release_column(batch.columns[-1], column=column, missing=missing, rng=rng)
    return pa.RecordBatch.from_arrays([*batch.columns[:-1], labels], names=[*batch.schema.names[:-1], LABEL])


def find_classes(source: Source, *, label: str) -> Classes:
    """Return the classes that occur in a column, sorted; that they are public is then an assumption.

    Examples
    --------
    >>> from tacit.data import load_table
    >>> find_classes(TableSource(table=load_table(pa.table({"y": ["b", "a", None]}))), label="y").values
    ('a', 'b')
    """
    return Classes(values=tuple(_occurring(source, label).to_pylist()), declared=False)


def declare_classes(words: Sequence[str], *, source: Source, label: str) -> Classes:
    """Return classes that were written as words, in the type of the label column.

    Examples
    --------
    >>> from tacit.data import load_table
    >>> source = TableSource(table=load_table(pa.table({"y": [1, 2]})))
    >>> declare_classes(["1", "2", "3"], source=source, label="y").values
    (1, 2, 3)
    >>> declare_classes(["one"], source=source, label="y")
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: classes must be of the label column's type, int64, got one
    """
    kind = source.distinct(label, most=1).type
    try:
        return Classes(values=tuple(pa.array(words, pa.string()).cast(kind).to_pylist()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InvalidInput(
            f"classes must be of the label column's type, {kind}, got {', '.join(map(str, words))}"
        ) from None


def find_values(source: Source, *, label: str) -> Values:
    """Return the numbers that occur in a column, ascending; that they are public is then an assumption.

    Examples
    --------
    >>> from tacit.data import load_table
    >>> find_values(TableSource(table=load_table(pa.table({"y": [2, 1, 2]}))), label="y").values
    array([1., 2.])
    """
    found = _occurring(source, label)
    if not (pa.types.is_integer(found.type) or pa.types.is_floating(found.type)):
        raise InvalidInput(f"labels must be numbers for this mechanism, got {found.type}")
    return Values(values=np.asarray(found.cast(pa.float64())), declared=False)


def _occurring(source: Source, label: str) -> pa.Array:
    found = source.distinct(label, most=_MOST_CLASSES).drop_null()
    if len(found) > _MOST_CLASSES:
        raise InvalidInput(
            f"label column {label!r} has more than {_MOST_CLASSES} different values; declare the classes, or the "
            "numbers to which labels are rounded"
        )
    if len(found) == 1:
        raise InvalidInput(
            f"label column {label!r} has one value, {found[0].as_py()!r}, in all rows; declare at least two classes"
        )
    return found.take(pc.sort_indices(found))


def _unreadable(error: Exception) -> InvalidInput:
    return InvalidInput(f"the table cannot be read to its end: {fault(error)}")
