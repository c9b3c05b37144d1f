"""Rows as numbers, read once: each row's codes and bags, in memory or on disk, and batches of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.bags.learners.cells import PartCells
from tacit.bags.learners.forest import ColumnCodes
from tacit.bags.partition import KeyColumn, Partition
from tacit.bags.partition.bags import read_columns
from tacit.data import open_table
from tacit.data.names import check_present
from tacit.data.rows import read_batches
from tacit.privacy.unfinished import temporary_folder

__all__ = ["EncodedRows", "batches", "encode", "vocabulary"]

Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EncodedRows:
    """Rows joined to their bags: all that training reads."""

    codes: Codes  # (rows, columns): the value of each column, from 1; 0 for a value that no bag has
    bags: Codes  # (rows, partitions): the bag of each row in each partition in use; -1 for none
    folder: Path | None = None  # where the two lie as files, if they are not in memory

    def __len__(self) -> int:
        return len(self.codes)


def vocabulary(cells: Sequence[PartCells]) -> tuple[ColumnCodes, ...]:
    """Return the columns that parts see, with all values that any of their partitions has in its keys."""
    found: dict[KeyColumn, list[pa.Array]] = {}
    for one in cells:
        keys = one.domain.keys
        if one.domain.other is not None:
            keys = keys.take(pa.array(np.delete(np.arange(len(one)), one.domain.other)))
        for feature in one.domain.features:
            found.setdefault(feature, []).append(keys[feature.name].combine_chunks())
    return tuple(
        ColumnCodes(feature=feature, values=_sorted(pa.concat_arrays(values).unique()))
        for feature, values in found.items()
    )


@contextmanager
def encode(
    features: Any,  # noqa: ANN401
    columns: Sequence[ColumnCodes],
    partitions: Sequence[Partition],
    *,
    block_rows: int,
) -> Iterator[EncodedRows]:
    """Join rows to their bags, once.

    A table in memory is joined in memory. A path or a table in an engine is read block by block, and what training
    needs (4 bytes per column and partition) is kept in files of a temporary folder.
    """
    names = sorted({name for one in partitions for name in one.columns} | {one.feature.name for one in columns})
    if isinstance(features, pa.Table | pd.DataFrame):
        table = read_columns(features, names)
        made = EncodedRows(codes=_codes(table, columns), bags=_bags(table, partitions))
        _check(made, partitions, block_rows)
        yield made
        return
    lazy = open_table(features)
    for name in names:
        check_present(name, lazy.columns, argument="features")
    with temporary_folder() as folder:
        made = _stream(read_batches(lazy, columns=names, batch_rows=block_rows), columns, partitions, folder)
        _check(made, partitions, block_rows)
        yield made


def batches(
    rows: EncodedRows,
    *,
    batch_rows: int | None,
    block_rows: int,
    rng: np.random.Generator | None,
    share: tuple[int, int] = (0, 1),
) -> Iterator[tuple[int, Codes, Codes]]:
    """Yield (rows of the whole batch, codes, bags) until all rows were seen once.

    Rows are shuffled inside blocks and blocks among each other, so a stream from disk reads each block once. Of
    every batch process ``share[0]`` of ``share[1]`` gets its part; all processes must pass generators of the same
    state.
    """
    block = len(rows) if rows.folder is None or batch_rows is None else max(block_rows, batch_rows)
    starts = np.arange(0, len(rows), max(block, 1))
    rank, world = share
    for start in rng.permutation(starts) if rng is not None else starts:
        codes, bags = rows.codes[start : start + block], rows.bags[start : start + block]
        order = rng.permutation(len(codes)) if rng is not None and batch_rows is not None else np.arange(len(codes))
        for first in range(0, len(order), batch_rows or max(len(order), 1)):
            batch = order[first : first + batch_rows] if batch_rows is not None else order
            mine = batch[rank::world]
            yield len(batch), codes[mine], bags[mine]


def _sorted(values: pa.Array) -> pa.Array:
    """In one order whatever bags they come from, so that a seed gives one network."""
    return values.take(pc.sort_indices(values))


def _codes(table: pa.Table, columns: Sequence[ColumnCodes]) -> Codes:
    made = [(one.encode(table) + 1).astype(np.int32) for one in columns]
    return np.stack(made, axis=1) if made else np.zeros((table.num_rows, 0), dtype=np.int32)


def _bags(table: pa.Table, partitions: Sequence[Partition]) -> Codes:
    return np.stack([one.assign(table).astype(np.int32) for one in partitions], axis=1)


def _stream(
    read: Iterator[pa.RecordBatch], columns: Sequence[ColumnCodes], partitions: Sequence[Partition], folder: Path
) -> EncodedRows:
    rows = 0
    with (folder / "codes").open("wb") as codes, (folder / "bags").open("wb") as bags:
        for batch in read:
            table = pa.Table.from_batches([batch])
            codes.write(_codes(table, columns).tobytes())
            bags.write(_bags(table, partitions).tobytes())
            rows += table.num_rows
    return EncodedRows(
        codes=_map(folder / "codes", rows, len(columns)),
        bags=_map(folder / "bags", rows, len(partitions)),
        folder=folder,
    )


def _map(path: Path, rows: int, width: int) -> Codes:
    if rows * width == 0:
        return np.zeros((rows, width), dtype=np.int32)
    return np.memmap(path, dtype=np.int32, mode="r", shape=(rows, width))


def _check(rows: EncodedRows, partitions: Sequence[Partition], block_rows: int) -> None:
    found = [np.zeros(len(one) + 1, dtype=np.int64) for one in partitions]
    for start in range(0, len(rows), block_rows):
        for i, counts in enumerate(found):
            counts += np.bincount(rows.bags[start : start + block_rows, i] + 1, minlength=len(counts))
    for partition, counts in zip(partitions, found, strict=True):
        partition.check_rows(counts[1:])
