"""The same bytes for the same values: digests of columns, whatever the batching, container or width."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Protocol, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput

__all__ = ["ColumnDigest", "Hash", "decode"]

_ROWS_AT_ONCE = 1 << 18
_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_NULL, _VALUE, _BIG = 0, 1, 2  # marks of a row; _BIG: an unsigned integer of 2^63 or more


class Hash(Protocol):
    """What ``hashlib.sha256`` and ``hmac.new`` return."""

    def update(self, data: bytes, /) -> None:
        """Hash more bytes."""

    def digest(self) -> bytes:
        """Return the digest of all bytes so far."""

    def copy(self) -> Self:
        """Return an independent hash of the same state."""


class ColumnDigest:
    """A running digest of named columns; equal values give equal digests however they are cut into batches.

    Integers of any width are equal, so are floats of any width (-0.0 is 0.0, all NaNs are one), plain and
    dictionary-encoded columns, and times of any resolution. A null equals no value. An integer, a float, a
    boolean and a text are of different kinds and never equal.

    Each column feeds two hashes, one with a mark or a length for every row, one with the values' bytes; both
    streams can be decoded, so that unequal columns give unequal streams. The digest hashes them all, with the
    columns' names and kinds.

    Parameters
    ----------
    new
        Makes an empty hash, e.g. ``hashlib.sha256`` or ``lambda: hmac.new(secret, digestmod="sha256")``.

    Examples
    --------
    >>> import hashlib
    >>> whole, halves = ColumnDigest(hashlib.sha256), ColumnDigest(hashlib.sha256)
    >>> table = pa.table({"x": pa.array([1, 2, None, 4], pa.int8())})
    >>> whole.update(table)
    >>> halves.update(table.slice(0, 1)); halves.update(table.slice(1).cast(pa.schema({"x": pa.int64()})))
    >>> whole.digest() == halves.digest(), whole.rows
    (True, 4)
    """

    def __init__(self, new: Callable[[], Hash]) -> None:
        self._new = new
        self._columns: dict[str, _Column] | None = None
        self.rows = 0

    def update(self, batch: pa.RecordBatch | pa.Table) -> None:
        """Add the rows of a record batch or a table; its columns must be those of the first one.

        Examples
        --------
        >>> import hashlib
        >>> digest = ColumnDigest(hashlib.sha256)
        >>> digest.update(pa.table({"x": [1]}))
        >>> digest.update(pa.table({"y": [1]}))
        Traceback (most recent call last):
        ...
        tacit.privacy.errors.InvalidInput: every batch must have the columns x (int), got y (int)
        """
        columns = self._open(batch.schema)
        table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
        for part in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
            for column, array in zip(columns.values(), part.columns, strict=True):
                column.update(array)
            self.rows += part.num_rows

    def copy(self) -> ColumnDigest:
        """Return an independent digest of the rows so far."""
        other = copy.copy(self)
        if self._columns is not None:
            other._columns = {name: column.copy() for name, column in self._columns.items()}
        return other

    def digest(self) -> bytes:
        """Return the digest of all rows so far."""
        total = self._new()
        total.update(_number(self.rows))
        for name, column in (self._columns or {}).items():
            total.update(_text(name) + column.digest(self._new()))
        return total.digest()

    def _open(self, schema: pa.Schema) -> dict[str, _Column]:
        if len(set(schema.names)) < len(schema.names):
            raise InvalidInput(f"columns must have different names, got {', '.join(schema.names)}")
        fresh = {field.name: _Column(field.type, self._new) for field in schema}
        if self._columns is None:
            self._columns = fresh
        elif _listed(fresh) != _listed(self._columns):
            wanted, got = _listed(self._columns), _listed(fresh)
            raise InvalidInput(f"every batch must have the columns {wanted}, got {got}")
        return self._columns


class _Column:
    """The two hashes of a column, and those of the columns inside it (of a list or a struct)."""

    def __init__(self, kind: pa.DataType, new: Callable[[], Hash]) -> None:
        self.kind, inner = _kind_of(kind)
        self.marks, self.values = new(), new()
        self.inner = [_Column(part, new) for part in inner]

    def update(self, array: pa.Array) -> None:
        array = decode(array)
        marks, values, inner = _ENCODERS[self.kind.partition(" ")[0]](array)
        self.marks.update(np.ascontiguousarray(marks, marks.dtype.newbyteorder("<")).tobytes())
        self.values.update(values)
        for column, part in zip(self.inner, inner, strict=True):
            column.update(part)

    def copy(self) -> _Column:
        other = copy.copy(self)
        other.marks, other.values = self.marks.copy(), self.values.copy()
        other.inner = [column.copy() for column in self.inner]
        return other

    def described(self) -> str:
        """The kind with the kinds inside it: what two batches must agree on."""
        inside = ", ".join(column.described() for column in self.inner)
        return f"{self.kind} of {inside}" if inside else self.kind

    def digest(self, total: Hash) -> bytes:
        empty = total.copy()
        total.update(_text(self.kind) + self.marks.digest() + self.values.digest())
        for column in self.inner:
            total.update(column.digest(empty.copy()))
        return total.digest()


_Encoded = tuple[NDArray[Any], bytes, list[pa.Array]]


def _kind_of(kind: pa.DataType) -> tuple[str, list[pa.DataType]]:
    """Return a column's kind, the same for types that hold the same values, and the types inside it."""
    if isinstance(kind, pa.BaseExtensionType):
        return _kind_of(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _kind_of(kind.value_type)
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


def decode(array: pa.Array) -> pa.Array:
    """Return the values themselves: without dictionaries, runs and extension types."""
    if isinstance(array, pa.ExtensionArray):
        return decode(array.storage)
    if pa.types.is_dictionary(array.type):
        words = array.dictionary
        if pa.types.is_string_view(words.type):  # as polars writes categories; Arrow cannot take from views
            words = words.cast(pa.large_string())
        return words.take(array.indices)
    return pc.run_end_decode(array) if pa.types.is_run_end_encoded(array.type) else array


def _null(array: pa.Array) -> _Encoded:
    return np.full(len(array), _NULL, np.uint8), b"", []


def _bool(array: pa.Array) -> _Encoded:
    return _valid(array), _dense(array, False).astype(np.uint8).tobytes(), []


def _int(array: pa.Array) -> _Encoded:
    marks, values = _valid(array), _dense(array, 0)
    if values.dtype == np.uint64:
        marks[values >= 2**63] = _BIG
    return marks, values.astype(np.int64).astype("<i8").tobytes(), []


def _float(array: pa.Array) -> _Encoded:
    values = np.array(array.drop_null().to_numpy(zero_copy_only=False), dtype="<f8")
    values[values == 0] = 0.0
    values[np.isnan(values)] = np.nan
    return _valid(array), values.tobytes(), []


def _decimal(array: pa.Array) -> _Encoded:
    return _bytes(array.cast(pa.string()))


def _bytes(array: pa.Array) -> _Encoded:
    array = array.cast(pa.large_binary())
    lengths = _dense(pc.binary_length(array), -1).astype(np.int64)
    kept = array.drop_null()
    _, offsets, data = kept.buffers()
    if not len(kept) or data is None:
        return lengths, b"", []
    ends = np.frombuffer(offsets, dtype=np.int64)[kept.offset : kept.offset + len(kept) + 1]
    return lengths, memoryview(data)[int(ends[0]) : int(ends[-1])].tobytes(), []


def _ticks(array: pa.Array) -> _Encoded:
    """Whole seconds and nanoseconds, so that the resolution does not matter and nothing overflows."""
    ticks = _TICKS[array.type.unit]
    values = _dense(array.cast(pa.int32() if array.type.bit_width == 32 else pa.int64()).cast(pa.int64()), 0)
    seconds, rest = np.divmod(values.astype(np.int64), ticks)
    return _valid(array), np.stack([seconds, rest * (10**9 // ticks)], axis=1).astype("<i8").tobytes(), []


def _date(array: pa.Array) -> _Encoded:
    return _int(array.cast(pa.date32()).cast(pa.int32()))


def _list(array: pa.Array) -> _Encoded:
    return _dense(pc.list_value_length(array), -1).astype(np.int64), b"", [array.flatten()]


def _struct(array: pa.Array) -> _Encoded:
    return _valid(array), b"", array.flatten()


_ENCODERS: dict[str, Callable[[pa.Array], _Encoded]] = {
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


def _text(value: str) -> bytes:
    return _number(len(value.encode())) + value.encode()


def _number(value: int) -> bytes:
    return value.to_bytes(8, "little")


def _listed(columns: dict[str, _Column]) -> str:
    return ", ".join(f"{name} ({column.described()})" for name, column in columns.items())
