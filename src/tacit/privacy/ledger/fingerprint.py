"""Know data without keeping it: a keyed digest of its values, read in one pass."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tacit.privacy.canonical import ColumnDigest
from tacit.privacy.errors import InvalidInput

__all__ = ["fingerprints"]


def fingerprints(data: object, *, secret: bytes, at: Iterable[int] = ()) -> dict[int, bytes]:
    """Return HMAC-SHA256 fingerprints of the first rows of ``data``, for each count in ``at``, and of all rows.

    Equal values in the same order have equal fingerprints, whatever holds them: a list, numpy, Arrow, pandas,
    polars or an Ibis table. Columns count by position, not by name. A missing value is a missing value,
    whether it is written NaN or null. Without the secret, nobody can guess few labels and compare.

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

    Examples
    --------
    >>> import numpy as np
    >>> short = fingerprints([0, 1, 1], secret=b"key")
    >>> long = fingerprints(np.array([0, 1, 1, 0], dtype=np.int8), secret=b"key", at=[3])
    >>> long[3] == short[3], sorted(long)
    (True, [3, 4])
    """
    digest = ColumnDigest(lambda: hmac.new(secret, digestmod="sha256"))
    found: dict[int, bytes] = {}
    stops = sorted(set(at), reverse=True)
    for batch in _batches(data):
        start = 0
        while stops and stops[-1] <= digest.rows + batch.num_rows - start:
            size = stops.pop() - digest.rows
            digest.update(batch.slice(start, size))
            found[digest.rows] = digest.digest()
            start += size
        digest.update(batch.slice(start))
    if not digest.rows:
        raise InvalidInput("data must have at least one row and one column, got none")
    return found | {digest.rows: digest.digest()}


def _batches(data: object) -> Iterator[pa.RecordBatch]:
    try:
        for batch in _arrow(data):
            columns = [_without_nan(column) for column in batch.columns]
            yield pa.RecordBatch.from_arrays(columns, names=[str(i) for i in range(len(columns))])
    except (pa.ArrowException, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise InvalidInput(f"data must be columns of one type each, got {type(data).__name__}: {reason}") from error


def _arrow(data: Any) -> Iterable[pa.RecordBatch]:  # noqa: ANN401
    """Cut any container into record batches."""
    if hasattr(data, "to_pyarrow_batches"):  # Ibis
        return data.to_pyarrow_batches()  # type: ignore[no-any-return]
    if isinstance(data, pa.RecordBatch):
        return [data]
    if isinstance(data, pd.DataFrame):
        return _arrow({i: data.iloc[:, i] for i in range(data.shape[1])})
    if hasattr(data, "__arrow_c_stream__") and (hasattr(data, "columns") or hasattr(data, "schema")):
        return pa.RecordBatchReader.from_stream(data)  # type: ignore[no-any-return]
    if isinstance(data, np.ndarray) and data.ndim == 2:
        return _arrow({i: data[:, i] for i in range(data.shape[1])})
    columns = data if isinstance(data, Mapping) else {0: data}
    table = pa.table({str(name): _column(values) for name, values in columns.items()})
    return table.to_batches()  # type: ignore[no-any-return]


def _column(values: Any) -> pa.Array | pa.ChunkedArray:  # noqa: ANN401
    if isinstance(values, str | bytes):
        raise TypeError("a text is not a column; to name a file, load it with tacit.data.load_table")
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if isinstance(values, np.ndarray):
        return pa.array(values.astype(values.dtype.newbyteorder("="), copy=False), from_pandas=True)
    if hasattr(values, "__arrow_c_stream__") and not isinstance(values, pd.Series):  # polars
        return pa.chunked_array(values)
    return pa.array(values, from_pandas=True)


def _without_nan(column: pa.Array) -> pa.Array:
    """One container's NaN is another's null: the same file must have the same fingerprint in both."""
    if not pa.types.is_floating(column.type):
        return column
    return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
