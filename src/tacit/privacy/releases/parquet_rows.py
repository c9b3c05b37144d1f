"""The rows of a Parquet file of a stranger: a small file may repeat one value billions of times."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tacit.privacy.errors import InvalidRelease

__all__ = ["read_batches", "read_table"]

_ROWS = 1 << 16
_LEAST_ALLOWED = 300_000_000  # bytes in memory
_GROWTH = 100  # times the file


def read_batches(path: Path) -> Iterator[pa.RecordBatch]:
    """Yield the rows; a batch of them larger than a file of its size may be is refused."""
    most = _most(path)
    with pq.ParquetFile(path, read_dictionary=_texts(path)) as file:
        for batch in file.iter_batches(batch_size=_ROWS):
            if sum(map(_dense_bytes, batch.columns)) > most:
                raise _too_large(path)
            yield _dense(batch)


def read_table(path: Path) -> pa.Table:
    """Return all rows, or raise if they take far more memory than the file."""
    most, batches = _most(path), []
    for batch in read_batches(path):
        most -= max(batch.nbytes, batch.num_rows)
        if most < 0:
            raise _too_large(path)
        batches.append(batch)
    return pa.Table.from_batches(batches, schema=pq.read_schema(path).remove_metadata())


def _most(path: Path) -> int:
    return max(_LEAST_ALLOWED, _GROWTH * path.stat().st_size)


def _texts(path: Path) -> list[str]:
    return [one.name for one in pq.read_schema(path) if pa.types.is_string(one.type) or pa.types.is_binary(one.type)]


def _dense_bytes(column: pa.Array) -> int:
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    return int(pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0)


def _dense(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = [one.dictionary_decode() if pa.types.is_dictionary(one.type) else one for one in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _too_large(path: Path) -> InvalidRelease:
    return InvalidRelease(f"{path} must take at most {_GROWTH} times its size in memory: its rows repeat far more")
