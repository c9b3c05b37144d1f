"""Sealed rows: a keyed digest of every row, so that damaged values are detected."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from numbers import Integral
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, insert, select, update

from tacit.privacy.errors import LedgerError

__all__ = ["SealedRows", "seal"]

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SealedRows:
    """The rows of one transaction: sealed as they are written, checked as they are read."""

    connection: Connection
    secret: bytes = field(repr=False)

    def add(self, table: Table, **values: object) -> None:
        """Write a new row."""
        self.connection.execute(insert(table).values(**self._sealed(table, values)))

    def change(self, table: Table, **values: object) -> None:
        """Replace the row with the same primary key."""
        same = [column == values[column.name] for column in table.primary_key]
        self.connection.execute(update(table).where(*same).values(**self._sealed(table, values)))

    def find(self, table: Table, *conditions: ColumnElement[bool], lock: bool = False) -> list[Row]:
        """Return the rows that meet all conditions, in the order of their primary key.

        ``lock`` makes other transactions that want the same lock wait; SQLite has locked the file already.
        """
        query = select(table).where(*conditions).order_by(*table.primary_key)
        if lock:
            query = query.with_for_update()
        return [self._checked(table, dict(row)) for row in self.connection.execute(query).mappings()]

    def last(self, table: Table, *conditions: ColumnElement[bool]) -> Row | None:
        """Return the row with the greatest primary key that meets all conditions."""
        newest = [column.desc() for column in table.primary_key]
        query = select(table).where(*conditions).order_by(*newest).limit(1)
        row = self.connection.execute(query).mappings().first()
        return None if row is None else self._checked(table, dict(row))

    def _sealed(self, table: Table, values: Mapping[str, object]) -> Row:
        plain = {name: _as_read(value) for name, value in values.items()}
        return {**plain, "seal": seal(self.secret, table.name, plain)}

    def _checked(self, table: Table, row: dict[str, Any]) -> Row:
        if row.pop("seal") != seal(self.secret, table.name, row):
            raise LedgerError(
                f"the ledger is damaged: a row of {table.name} does not match its seal; restore it from an export"
            )
        return row


def _as_read(value: object) -> object:
    """The value as the database returns it, which its seal covers: a plain string or number, no subclass."""
    if isinstance(value, str):
        return str.__str__(value)
    return int(value) if isinstance(value, Integral) else value


def seal(secret: bytes, table: str, values: Mapping[str, object]) -> bytes:
    """Return the keyed digest of a row: HMAC-SHA256 over its table, columns and values."""
    # bytes by their hash, as they may be long; then a literal in ASCII, which no two rows share
    short = {name: sha256(value).digest() if isinstance(value, bytes) else value for name, value in values.items()}
    return hmac.digest(secret, ascii((table, sorted(short.items()))).encode("ascii"), "sha256")
