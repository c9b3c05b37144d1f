"""Recognize data without storing it: a keyed digest of its values, computed in one pass."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.privacy.canonical import ColumnDigest, RunningHash, decode
from tacit.privacy.errors import InvalidInput
from tacit.privacy.lazy import is_a

__all__ = ["arrow_batches", "batches_of", "fingerprint_rows", "fingerprints", "list_column"]

_ROWS_AT_ONCE = 1 << 14  # Arrow reads on to the end where a text is no number, and is slow to say so


def fingerprints(data: object, *, secret: bytes, at: Iterable[int] = ()) -> dict[int, bytes]:
    """Return HMAC-SHA256 fingerprints of the first rows of ``data``, for each count in ``at``, and of all rows.

    Equal values in the same order have equal fingerprints in any container: a list, numpy, Arrow, pandas, polars or an
    Ibis table. Numbers are equal by value: 1, 1.0, True, and "1" or " 1" in a column of strings that are all numbers or
    empty.
    Columns count by position, not by name. A missing value is a missing value, whether it is written NaN or null.
    Without the secret, nobody can guess few labels and compare.

    Parameters
    ----------
    data
        One column (a list, a 1-d array, a series) or several (a 2-d array, a table, a mapping of columns).
    at
        Row counts of the versions that ``data`` may extend; those beyond its length are left out.

    Returns
    -------
    dict
        From row count to fingerprint; the greatest count is the length of ``data``.

    References
    ----------
    RFC 2104 (HMAC).
    """
    digest = _PositionDigest(lambda: hmac.new(secret, digestmod="sha256"))
    found: dict[int, bytes] = {}
    stops = sorted(set(at), reverse=True)
    for batch in batches_of(data):
        start = 0
        while stops and stops[-1] <= digest.rows + batch.num_rows - start:
            size = stops.pop() - digest.rows
            digest.update(batch.slice(start, size))
            found[digest.rows] = digest.digest()
            start += size
        digest.update(batch.slice(start))
    if not digest.rows:
        raise InvalidInput("must have at least one row and one column, got none", field="data")
    return found | {digest.rows: digest.digest()}


def fingerprint_rows(
    batches: Iterable[pa.RecordBatch], *, private: Sequence[str], secret: bytes, at: Iterable[int] = ()
) -> tuple[dict[int, bytes], bytes]:
    """Return, from one pass over the rows, the fingerprints of the private columns and that of all columns.

    Rows without private columns have the fingerprints of all columns.
    """
    everything = _PositionDigest(lambda: hmac.new(secret, digestmod="sha256"))

    def private_columns() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            everything.update(_unnamed(batch))
            yield batch.select(list(private) or batch.schema.names)

    return fingerprints(private_columns(), secret=secret, at=at), everything.digest()


class _PositionDigest:
    """A running digest of columns by position."""

    def __init__(self, new: Callable[[], RunningHash]) -> None:
        self._new = new
        self._columns: list[_ColumnReadings] = []
        self.rows = 0

    def update(self, batch: pa.RecordBatch) -> None:
        self._columns = self._columns or [_ColumnReadings(self._new) for _ in batch.columns]
        for part in pa.Table.from_batches([batch]).to_batches(max_chunksize=_ROWS_AT_ONCE):
            for column, values in zip(self._columns, part.columns, strict=True):
                column.update(values)
        self.rows += batch.num_rows

    def digest(self) -> bytes:
        total = self._new()
        for column in self._columns:
            total.update(column.digest())
        return total.digest()


class _ColumnReadings:
    """A column's digests as integers, as real numbers and unchanged; the first that fits all rows so far counts.

    So the first rows keep their own fingerprint, even if a later row turns integers into floats or strings.
    """

    def __init__(self, new: Callable[[], RunningHash]) -> None:
        self._new = new
        self._digests: dict[_Reading, ColumnDigest] | None = None

    def update(self, values: pa.Array) -> None:
        values = decode(values)
        if self._digests is None:
            self._digests = {reading: ColumnDigest(self._new) for reading in _readings_of(values.type)}
        for reading, digest in list(self._digests.items()):
            try:
                digest.update(pa.table({"": reading(values)}))
            except pa.ArrowInvalid:
                del self._digests[reading]

    def digest(self) -> bytes:
        return next(iter((self._digests or {}).values())).digest()


_Reading = Callable[[pa.Array], pa.Array]


def _readings_of(kind: pa.DataType) -> list[_Reading]:
    """Return the ways to read a column, the last of which takes every value of its type."""
    if pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return [_as_whole]
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return [_as_whole, _as_real]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        # as integers by themselves: a float has no digits beyond 2^53
        return [_text_as_integer, _text_as_whole, _text_as_real, _text_as_truth, _as_it_is]
    return [_as_it_is]


def _as_it_is(values: pa.Array) -> pa.Array:
    return values


def _as_whole(values: pa.Array) -> pa.Array:
    return values.cast(pa.int64())


def _as_real(values: pa.Array) -> pa.Array:
    if pa.types.is_decimal(values.type):
        values = values.cast(pa.string())  # Arrow's own way is an ulp off: 0.3 becomes 0.30000000000000004
    return _without_nan(values.cast(pa.float64()))


def _text_as_integer(values: pa.Array) -> pa.Array:
    return _as_whole(_bare(values))


def _text_as_whole(values: pa.Array) -> pa.Array:
    return _as_whole(_text_as_real(values))


def _text_as_real(values: pa.Array) -> pa.Array:
    return _as_real(_bare(values))


def _text_as_truth(values: pa.Array) -> pa.Array:
    return _as_whole(_bare(values).cast(pa.bool_()))  # "true" and "True" are; pandas reads them so


def _bare(values: pa.Array) -> pa.Array:
    """Strings as readers of files parse numbers: without surrounding spaces, and an empty string is a missing value."""
    bare = pc.utf8_trim_whitespace(values.cast(pa.large_string()))
    return pc.if_else(pc.equal(bare, ""), pa.scalar(None, bare.type), bare)


def batches_of(data: object) -> Iterator[pa.RecordBatch]:
    """Cut any container into record batches, or raise; NaN is a missing value."""
    try:
        yield from map(_with_missing, arrow_batches(data))
    except (pa.ArrowException, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise InvalidInput(
            f"must be columns of one type each, got {type(data).__name__}: {reason}", field="data"
        ) from error


def _with_missing(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([_without_nan(column) for column in batch.columns], names=batch.schema.names)


def _unnamed(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = [_without_nan(column) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=[str(i) for i in range(len(columns))])


def arrow_batches(data: Any) -> Iterable[pa.RecordBatch]:  # noqa: ANN401
    """Cut any container into record batches; a mapping keeps the names of its columns."""
    if hasattr(data, "to_pyarrow_batches"):  # Ibis
        return data.to_pyarrow_batches()  # type: ignore[no-any-return]
    if isinstance(data, pa.RecordBatch):
        return [data]
    if isinstance(data, Generator):  # of batches
        return data
    if is_a(data, "pandas", "DataFrame"):
        return arrow_batches({i: data.iloc[:, i] for i in range(data.shape[1])})
    if hasattr(data, "__arrow_c_stream__") and (hasattr(data, "columns") or hasattr(data, "schema")):
        return pa.RecordBatchReader.from_stream(data)  # type: ignore[no-any-return]
    if isinstance(data, np.ndarray) and data.ndim == 2:
        return arrow_batches({i: data[:, i] for i in range(data.shape[1])})
    columns = data if isinstance(data, Mapping) else {0: data}
    table = pa.table({str(name): _column(values) for name, values in columns.items()})
    return table.to_batches()  # type: ignore[no-any-return]


def _column(values: Any) -> pa.Array | pa.ChunkedArray:  # noqa: ANN401
    if isinstance(values, str | bytes):
        raise TypeError("a text is not a column; to name a file, open it with tacit.data.open_table")
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if isinstance(values, np.ndarray):
        return pa.array(values.astype(values.dtype.newbyteorder("="), copy=False), from_pandas=True)
    if hasattr(values, "__arrow_c_stream__") and not is_a(values, "pandas", "Series"):  # polars
        return pa.chunked_array(values)
    return pa.array(values, from_pandas=True)


def list_column(rows: NDArray[Any]) -> pa.Array:
    """Return an array of any shape as a column with one list of numbers per row."""
    return pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), rows[0].size)


def _without_nan(column: pa.Array) -> pa.Array:
    """Make NaN null, so that the same file has the same fingerprint in every container."""
    if not pa.types.is_floating(column.type):
        return column
    return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
