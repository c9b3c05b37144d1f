"""The bytes of a column's values: equal for types with equal values, and decodable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput

__all__ = ["Encoded", "encode", "kind_of"]

_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_NULL, _VALUE, _BIG = 0, 1, 2  # marks of a row; _BIG: an unsigned integer of 2^63 or more

Encoded = tuple[NDArray[Any], bytes, list[pa.Array]]
"""A mark or a length for every row, the values' bytes, and the columns inside."""


def kind_of(kind: pa.DataType) -> tuple[str, list[pa.DataType]]:
    """Return a column's kind, the same for types that hold the same values, and the types inside it."""
    if isinstance(kind, pa.BaseExtensionType):
        return kind_of(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return kind_of(kind.value_type)
    if pa.types.is_struct(kind):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        return " ".join(["struct", *(repr(field.name) for field in fields)]), [field.type for field in fields]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return "list", [kind.value_type]
    if pa.types.is_timestamp(kind):
        return ("timestamp utc" if kind.tz else "timestamp"), []
    for name, holds in _FLAT.items():
        if holds(kind):
            return name, []
    raise InvalidInput(f"columns of type {kind} have no canonical bytes; cast them to numbers, text or times")


_FLAT: dict[str, Callable[[pa.DataType], bool]] = {
    "null": pa.types.is_null,
    "bool": pa.types.is_boolean,
    "int": pa.types.is_integer,
    "float": pa.types.is_floating,
    "decimal": pa.types.is_decimal,
    "text": lambda t: pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_string_view(t),
    "binary": lambda t: (
        pa.types.is_binary(t)
        or pa.types.is_large_binary(t)
        or pa.types.is_fixed_size_binary(t)
        or pa.types.is_binary_view(t)
    ),
    "date": pa.types.is_date,
    "time": pa.types.is_time,
    "duration": pa.types.is_duration,
}


def encode(array: pa.Array, kind: str) -> Encoded:
    """Return the bytes of a decoded column of a kind by :func:`kind_of`."""
    return _ENCODERS[kind.partition(" ")[0]](array)


def _null(array: pa.Array) -> Encoded:
    return np.full(len(array), _NULL, np.uint8), b"", []


def _bool(array: pa.Array) -> Encoded:
    return _valid(array), _dense(array, False).astype(np.uint8).tobytes(), []


def _int(array: pa.Array) -> Encoded:
    marks, values = _valid(array), _dense(array, 0)
    if values.dtype == np.uint64:
        marks[values >= 2**63] = _BIG
    return marks, values.astype(np.int64).astype("<i8").tobytes(), []


def _float(array: pa.Array) -> Encoded:
    values = np.array(array.drop_null().to_numpy(zero_copy_only=False), dtype="<f8")
    values[values == 0] = 0.0
    values[np.isnan(values)] = np.nan
    return _valid(array), values.tobytes(), []


def _decimal(array: pa.Array) -> Encoded:
    return _bytes(array.cast(pa.string()))


def _bytes(array: pa.Array) -> Encoded:
    array = array.cast(pa.large_binary())
    lengths = _dense(pc.binary_length(array), -1).astype(np.int64)
    kept = array.drop_null()
    _, offsets, data = kept.buffers()
    if not len(kept) or data is None:
        return lengths, b"", []
    ends = np.frombuffer(offsets, dtype=np.int64)[kept.offset : kept.offset + len(kept) + 1]
    return lengths, memoryview(data)[int(ends[0]) : int(ends[-1])].tobytes(), []


def _ticks(array: pa.Array) -> Encoded:
    """Whole seconds and nanoseconds, so that the resolution does not matter and nothing overflows."""
    ticks = _TICKS[array.type.unit]
    values = _dense(array.cast(pa.int32() if array.type.bit_width == 32 else pa.int64()).cast(pa.int64()), 0)
    seconds, rest = np.divmod(values.astype(np.int64), ticks)
    return _valid(array), np.stack([seconds, rest * (10**9 // ticks)], axis=1).astype("<i8").tobytes(), []


def _date(array: pa.Array) -> Encoded:
    return _int(array.cast(pa.date32()).cast(pa.int32()))


def _list(array: pa.Array) -> Encoded:
    return _dense(pc.list_value_length(array), -1).astype(np.int64), b"", [array.flatten()]


def _struct(array: pa.Array) -> Encoded:
    return _valid(array), b"", array.flatten()


_ENCODERS: dict[str, Callable[[pa.Array], Encoded]] = {
    "null": _null,
    "bool": _bool,
    "int": _int,
    "float": _float,
    "decimal": _decimal,
    "text": _bytes,
    "binary": _bytes,
    "date": _date,
    "time": _ticks,
    "timestamp": _ticks,
    "duration": _ticks,
    "list": _list,
    "struct": _struct,
}


def _valid(array: pa.Array) -> NDArray[np.uint8]:
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False), dtype=np.uint8)


def _dense(array: pa.Array, filler: object) -> NDArray[Any]:
    return np.asarray(pc.fill_null(array, filler).to_numpy(zero_copy_only=False))
