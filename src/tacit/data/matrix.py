"""Columns of rows in memory as one matrix of numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.data.column import as_floats
from tacit.data.names import check_present
from tacit.privacy.errors import InvalidInput

__all__ = ["numeric_matrix"]


def numeric_matrix(rows: pa.Table, *, columns: Sequence[str]) -> NDArray[np.float64]:
    """Return numeric and truth-value columns as a float64 matrix, with NaN for missing values."""
    for name in columns:
        kind = rows.schema.field(check_present(name, rows.column_names, argument="columns")).type
        if not _is_numeric(kind):
            raise InvalidInput(f"column {name!r} is {kind}, not numbers; leave it out, or encode it first")
    return np.column_stack([_numbers(rows[name]) for name in columns] or [np.empty((rows.num_rows, 0))])


def _is_numeric(kind: pa.DataType) -> bool:
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    return any(test(kind) for test in tests)


def _numbers(column: pa.ChunkedArray) -> NDArray[np.float64]:
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    return np.asarray(as_floats(column).to_numpy(), dtype=np.float64)
