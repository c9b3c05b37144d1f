"""Read rows of a lazy table into memory, in order, and check the label column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.data.classes import missing_labels
from tacit.data.column import as_floats, is_whole
from tacit.data.csv_file import MISSING_WORDS, fault
from tacit.data.locations import files_read
from tacit.data.names import check_present
from tacit.data.view import TableView
from tacit.privacy.endings import ENDINGS
from tacit.privacy.errors import InvalidInput

if TYPE_CHECKING:
    import ibis

__all__ = ["label_column", "labelled_rows", "parse_once", "read_batches", "read_rows"]

AnyTable = TypeVar("AnyTable", TableView, "ibis.Table")


def read_rows(table: TableView | ibis.Table, *, columns: Sequence[str] | None = None) -> pa.Table:
    """Read ``columns`` of a table into memory by one query, so that row i is row i in each of them."""
    wanted = list(table.columns if columns is None else columns)
    for name in wanted:
        check_present(name, table.columns, argument="columns")
    if not wanted or len(set(wanted)) < len(wanted):
        raise InvalidInput(f"must be one name or more, each once, got {wanted!r}", field="columns")
    try:
        return table.to_arrow(wanted) if isinstance(table, TableView) else table.select(*wanted).to_pyarrow()
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise InvalidInput(f"the table cannot be read to its end: {fault(error)}") from None


def read_batches(table: TableView | ibis.Table, *, columns: Sequence[str], batch_rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of ``columns``, never more than a few batches at a time; in order where the table has one."""
    try:
        yield from _batches(table, columns, batch_rows)
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise InvalidInput(f"the table cannot be read to its end: {fault(error)}") from None


def _batches(table: TableView | ibis.Table, columns: Sequence[str], batch_rows: int) -> Iterator[pa.RecordBatch]:
    if isinstance(table, TableView):
        return table.read(columns, batch_rows=batch_rows)
    return iter(table.select(*columns).to_pyarrow_batches(chunk_size=batch_rows))


def parse_once(table: AnyTable, source: object, *, columns: Sequence[str]) -> AnyTable:
    """Return a table for several queries on some columns: a text file is read once, into a table of DuckDB.

    DuckDB spills to disk what does not fit in memory. Parquet, Arrow, databases and frames are queried where they are,
    as is a table that lacks one of the columns.
    """
    text = any(file.suffix.lower() not in (*ENDINGS["Parquet"], *ENDINGS["Arrow"]) for file in files_read(source))
    wanted = list(dict.fromkeys(columns))
    if not text or not set(wanted) <= set(table.columns):
        return table
    try:
        return table.stored(wanted) if isinstance(table, TableView) else table.select(*wanted).cache()
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise InvalidInput(f"the table cannot be read to its end: {fault(error)}") from None


def label_column(table: TableView | ibis.Table | pa.Table, name: str, *, least_classes: int = 2) -> NDArray[Any]:
    """Return the labels in row order as int64, float64, bool or str, or raise if they are not valid labels.

    Labels are rejected if they are missing, infinite, of fewer than ``least_classes`` values, or neither numbers nor
    text.

    Parameters
    ----------
    table
        A lazy table, or its rows from ``read_rows``: if a database has no fixed order, take both the features and the
        labels from the same rows.
    least_classes
        How many different values there must be; 1 allows a constant.
    """
    rows = table if isinstance(table, pa.Table) else read_rows(table, columns=[_find(name, table.columns)])
    column = _plain(rows[_find(name, rows.column_names)].combine_chunks())
    _check_complete(column, name)
    labels = _to_numpy(column, name)
    _check_classes(labels, name, least_classes)
    return labels


def labelled_rows(rows: pa.Table, name: str) -> pa.Table:
    """Return the rows that have a label, or raise if there are none.

    Examples
    --------
    >>> labelled_rows(pa.table({"age": [31, 64, 50], "ill": ["no", None, "NA"]}), "ill").num_rows
    1
    """
    column = rows[_find(name, rows.column_names)]
    if pa.types.is_nested(column.type):
        return rows
    missing = _is_missing(_plain(column.combine_chunks()))
    if pc.all(missing).as_py():
        raise InvalidInput(f"column {name!r} has no value in any row; a label has two or more")
    return rows.filter(pc.invert(missing)) if pc.any(missing).as_py() else rows


def _find(name: str, columns: Sequence[str]) -> str:
    return check_present(name, columns, argument="label")


def _plain(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    is_text = pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type)
    return column.cast(pa.string()) if is_text else column


def _is_missing(column: pa.Array) -> pa.Array:
    missing = column.is_null(nan_is_null=True)
    if pa.types.is_string(column.type):
        missing = pc.or_(missing, pc.is_in(column, value_set=pa.array(MISSING_WORDS)))
    return missing


def _check_complete(column: pa.Array, name: str) -> None:
    missing = _is_missing(column)
    if pa.types.is_floating(column.type):
        missing = pc.or_(missing, pc.invert(pc.fill_null(pc.is_finite(column), False)))
    count = pc.sum(missing).as_py() or 0
    if count:
        first = pc.index(missing, True).as_py()
        where = f", the first in row {first + 1} ({column[first].as_py()})"
        raise missing_labels(name, count, of=len(column), detail=where)


def _to_numpy(column: pa.Array, name: str) -> NDArray[Any]:
    kind = column.type
    if pa.types.is_string(kind):
        encoded = column.dictionary_encode()
        words: NDArray[np.str_] = np.asarray(encoded.dictionary.to_pylist(), dtype=np.str_)
        codes: NDArray[np.int32] = encoded.indices.to_numpy()
        return words[codes]
    if pa.types.is_boolean(kind):
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=bool)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise InvalidInput(
            f"label column {name!r} must have numbers, text or truth values, got {kind}; convert them to text"
        )
    try:
        numbers = column.cast(pa.int64()) if pa.types.is_integer(kind) or is_whole(column) else as_floats(column)
        return np.asarray(numbers.to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:
        raise InvalidInput(f"label column {name!r} has numbers beyond 64 bits; convert them to text") from None


def _check_classes(labels: NDArray[Any], name: str, least: int) -> None:
    values = np.unique(labels)
    if len(values) == 1 < least:
        raise InvalidInput(
            f"label column {name!r} has one value, {values[0].item()!r}, in all rows; labels need at least {least}"
        )
    if len(values) < least:
        raise InvalidInput(f"label column {name!r} has {len(values)} values; labels need at least {least}")
