"""Columns of rows in memory as one matrix of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.data.column import as_floats
from tacit.data.names import check_present
from tacit.privacy.errors import InvalidInput

__all__ = ["FeatureMatrix", "numeric_matrix", "one_hot_matrix"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FeatureMatrix:
    """A matrix with one name a column."""

    values: NDArray[np.float64]
    names: tuple[str, ...]


def numeric_matrix(rows: pa.Table, *, columns: Sequence[str]) -> NDArray[np.float64]:
    """Return numeric and truth-value columns as a float64 matrix, with NaN where a value is missing."""
    for name in columns:
        kind = rows.schema.field(check_present(name, rows.column_names, argument="columns")).type
        if not _is_numeric(kind):
            raise InvalidInput(f"column {name!r} is {kind}, not numbers; leave it out or encode it one-hot")
    return _stack([_numbers(rows[name]) for name in columns], rows.num_rows)


def one_hot_matrix(rows: pa.Table, *, columns: Sequence[str], most_values: int = 1000) -> FeatureMatrix:
    """Return columns as numbers: numeric ones as they are, text as one 0/1 column for each of its values.

    The 0/1 columns of ``name`` are called ``name=value``, in the order of the values; a missing text is 0 in all
    of them. The values are those of these rows: where other rows will follow, fit an encoder instead. A text column
    with more than ``most_values`` values is refused: it is an identifier, or needs hashing.
    """
    names: list[str] = []
    blocks: list[NDArray[np.float64]] = []
    for name in columns:
        column = rows[check_present(name, rows.column_names, argument="columns")]
        if _is_numeric(column.type):
            names.append(name)
            blocks.append(_numbers(column))
        else:
            values, block = _indicators(column, name, most_values)
            names.extend(f"{name}={value}" for value in values)
            blocks.append(block)
    return FeatureMatrix(values=_stack(blocks, rows.num_rows), names=tuple(names))


def _is_numeric(kind: pa.DataType) -> bool:
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    return any(test(kind) for test in tests)


def _numbers(column: pa.ChunkedArray) -> NDArray[np.float64]:
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    return np.asarray(as_floats(column).to_numpy(), dtype=np.float64)


def _indicators(column: pa.ChunkedArray, name: str, most: int) -> tuple[list[str], NDArray[np.float64]]:
    if pa.types.is_nested(column.type):
        raise InvalidInput(f"column {name!r} is {column.type}, neither numbers nor text; leave it out")
    words = column.cast(pa.string())
    values = sorted(words.unique().drop_null().to_pylist())
    if len(values) > most:
        raise InvalidInput(
            f"column {name!r} has {len(values)} values, more than {most}; leave it out or hash it into fewer"
        )
    codes = pc.index_in(words, value_set=pa.array(values, pa.string())).to_numpy()
    return values, (codes[:, None] == np.arange(len(values))).astype(np.float64)


def _stack(blocks: list[NDArray[np.float64]], rows: int) -> NDArray[np.float64]:
    return np.column_stack(blocks) if blocks else np.empty((rows, 0))
