"""Which columns are numbers, dates or words, and the numbers of the first two."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.data.column import as_floats
from tacit.data.encoder.rule import Column
from tacit.privacy.errors import InvalidInput

__all__ = ["days_of", "is_date", "is_number", "is_word", "numbers_of", "words_of"]

_HOUR, _DAY = 3_600e6, 86_400e6  # microseconds


def is_number(kind: pa.DataType) -> bool:
    """Whether a column is of numbers; times of day are hours, and durations are days."""
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_time, pa.types.is_duration)
    return any(test(kind) for test in tests)


def is_date(kind: pa.DataType) -> bool:
    """Whether a column is of dates, with or without a time of day."""
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def is_word(kind: pa.DataType) -> bool:
    """Whether a column is of words; a column without any value may be."""
    if pa.types.is_dictionary(kind):
        return is_word(kind.value_type)
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    return any(test(kind) for test in tests)


def numbers_of(column: Column, *, name: str) -> NDArray[np.float64]:
    """Return a column of numbers as float64, with NaN for missing values; no value depends on another row."""
    kind = column.type
    if column.null_count == len(column):  # of any type: a CSV's empty column is read as text
        return np.full(len(column), np.nan)
    if pa.types.is_boolean(kind):
        return np.asarray(as_floats(column.cast(pa.int8())).to_numpy(zero_copy_only=False))
    if not is_number(kind):
        raise InvalidInput(f"column {name!r} must be numbers, as its encoder was made for, got {kind}")
    if pa.types.is_time(kind):
        return _microseconds(column, pa.time64("us")) / _HOUR
    if pa.types.is_duration(kind):
        return _microseconds(column, pa.duration("us")) / _DAY
    return np.asarray(as_floats(column), dtype=np.float64)


def days_of(column: Column, *, name: str) -> NDArray[np.float64]:
    """Return dates and times as days since the start of 1970, with NaN for missing ones."""
    if column.null_count == len(column):
        return np.full(len(column), np.nan)
    if not is_date(column.type):
        raise InvalidInput(f"column {name!r} must be dates, as its encoder was made for, got {column.type}")
    zone = column.type.tz if pa.types.is_timestamp(column.type) else None
    return _microseconds(column, pa.timestamp("us", tz=zone)) / _DAY


def words_of(column: Column) -> pa.Array:
    """Return a column as words."""
    plain = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_dictionary(plain.type):
        plain = plain.dictionary_decode()
    return plain.cast(pa.string())


def _microseconds(column: Column, kind: pa.DataType) -> NDArray[np.float64]:
    return np.asarray(column.cast(kind, safe=False).cast(pa.int64()).cast(pa.float64(), safe=False), dtype=np.float64)
