"""Equal digests for equal values of columns, in any batching, container or width."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Protocol, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit.privacy.column_bytes import encode, kind_of
from tacit.privacy.errors import InvalidInput

__all__ = ["ColumnDigest", "RunningHash", "decode"]

_ROWS_AT_ONCE = 1 << 18


class RunningHash(Protocol):
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

    def __init__(self, new: Callable[[], RunningHash]) -> None:
        self._new = new
        self._columns: dict[str, _ColumnHashes] | None = None
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

    def _open(self, schema: pa.Schema) -> dict[str, _ColumnHashes]:
        if len(set(schema.names)) < len(schema.names):
            raise InvalidInput(f"columns must have different names, got {', '.join(schema.names)}")
        fresh = {field.name: _ColumnHashes(field.type, self._new) for field in schema}
        if self._columns is None:
            self._columns = fresh
        elif _listed(fresh) != _listed(self._columns):
            wanted, got = _listed(self._columns), _listed(fresh)
            raise InvalidInput(f"every batch must have the columns {wanted}, got {got}")
        return self._columns


class _ColumnHashes:
    """The two hashes of a column, and those of the columns inside it (of a list or a struct)."""

    def __init__(self, kind: pa.DataType, new: Callable[[], RunningHash]) -> None:
        self.kind, inner = kind_of(kind)
        self.marks, self.values = new(), new()
        self.inner = [_ColumnHashes(part, new) for part in inner]

    def update(self, array: pa.Array) -> None:
        array = decode(array)
        marks, values, inner = encode(array, self.kind)
        self.marks.update(np.ascontiguousarray(marks, marks.dtype.newbyteorder("<")).tobytes())
        self.values.update(values)
        for column, part in zip(self.inner, inner, strict=True):
            column.update(part)

    def copy(self) -> _ColumnHashes:
        other = copy.copy(self)
        other.marks, other.values = self.marks.copy(), self.values.copy()
        other.inner = [column.copy() for column in self.inner]
        return other

    def described(self) -> str:
        """The kind with the kinds inside it, which two batches must share."""
        inside = ", ".join(column.described() for column in self.inner)
        return f"{self.kind} of {inside}" if inside else self.kind

    def digest(self, total: RunningHash) -> bytes:
        empty = total.copy()
        total.update(_text(self.kind) + self.marks.digest() + self.values.digest())
        for column in self.inner:
            total.update(column.digest(empty.copy()))
        return total.digest()


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


def _text(value: str) -> bytes:
    return _number(len(value.encode())) + value.encode()


def _number(value: int) -> bytes:
    return value.to_bytes(8, "little")


def _listed(columns: dict[str, _ColumnHashes]) -> str:
    return ", ".join(f"{name} ({column.described()})" for name, column in columns.items())
