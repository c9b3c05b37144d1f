"""Where a ledger lives: a SQLite file or a PostgreSQL database, with transactions that never lose a commit."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from tacit.privacy.errors import InvalidInput, LedgerError
from tacit.privacy.ledger.sqlite_file import check_file

__all__ = ["PATIENCE", "Database"]

PATIENCE = 60
"""Seconds to wait for another process that writes."""

_DAMAGE = ("malformed", "not a database", "not decode", "no such column", "no such table")


@dataclass(frozen=True, slots=True)
class Database:
    """A database by its URL; every transaction has a connection of its own, so forks and threads are safe.

    Examples
    --------
    >>> Database.at("ledger.db").where, Database.at("postgresql://me:secret@host/books").where
    ('ledger.db', 'postgresql+psycopg://me:***@host/books')
    """

    where: str
    file: Path | None
    engine: Engine

    @classmethod
    def at(cls, location: str | Path) -> Database:
        """Read a path or a URL; nothing is opened yet.

        Examples
        --------
        >>> Database.at("mysql://host/books")
        Traceback (most recent call last):
        ...
        tacit.privacy.errors.InvalidInput: ledger must be a file or a postgresql:// URL, got mysql://...
        """
        url = _url_of(location)
        if url.get_backend_name() != "sqlite":
            engine = create_engine(url, poolclass=NullPool)
            event.listen(engine, "begin", _begin_postgresql)
            return cls(url.render_as_string(hide_password=True), None, engine)
        file = Path(str(url.database)).absolute()
        engine = create_engine("sqlite://", poolclass=NullPool, creator=lambda: _connect_sqlite(file))
        event.listen(engine, "begin", _begin_sqlite)
        return cls(str(url.database), file, engine)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads: it sees one state of the ledger."""
        with self._transaction(writing=False) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that may write; in SQLite it holds the file's only write lock from its first moment."""
        with self._transaction(writing=True) as connection:
            yield connection

    @contextmanager
    def _transaction(self, *, writing: bool) -> Iterator[Connection]:
        if self.file:
            check_file(self.file, where=self.where)
        try:
            with self.engine.connect().execution_options(writing=writing) as connection, connection.begin():
                yield connection
        except DBAPIError as error:
            raise LedgerError(_sentence(self.where, str(error.orig))) from error
        except UnicodeDecodeError as error:  # sqlite3 quotes the damaged text in its message
            raise LedgerError(_sentence(self.where, "malformed text")) from error


def _url_of(location: str | Path) -> URL:
    if isinstance(location, Path) or "://" not in location:
        if location == "":
            raise InvalidInput("ledger must be a file or a postgresql:// URL, got ''")
        return URL.create("sqlite", database=os.fspath(location))
    scheme = location.partition("://")[0]  # the rest may hold a password
    refused = InvalidInput(f"ledger must be a file or a postgresql:// URL, got {scheme}://...")
    try:
        url = make_url(location)
    except (ArgumentError, ValueError):
        raise refused from None
    if url.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        return url.set(drivername="postgresql+psycopg")
    if url.drivername == "sqlite" and url.database not in (None, "", ":memory:") and not url.query:
        return url
    raise refused


def _connect_sqlite(file: Path) -> sqlite3.Connection:
    """Open an existing file; BEGIN and COMMIT are ours, as the driver's own BEGIN takes no lock."""
    location = f"{file.as_uri()}?mode=rw"
    connection = sqlite3.connect(location, uri=True, timeout=PATIENCE, isolation_level=None)
    try:
        for pragma in ("journal_mode=DELETE", "synchronous=FULL", "fullfsync=ON", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}").close()
    except BaseException:
        connection.close()
        raise
    return connection


def _begin_sqlite(connection: Connection) -> None:
    writing = connection.get_execution_options().get("writing")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def _begin_postgresql(connection: Connection) -> None:
    if connection.get_execution_options().get("writing"):
        # whatever the server's defaults: who waited for a lock must see what the one before wrote
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE")
        # a server may have it off, and then forgets the last commits when its machine stops
        connection.exec_driver_sql("SET LOCAL synchronous_commit = on")
    else:
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


def _sentence(where: str, message: str) -> str:
    reason = message.strip().partition("\n")[0]
    if "locked" in reason:
        return f"the ledger {where} was busy for {PATIENCE} s; try again when no other process writes to it"
    if any(sign in reason for sign in _DAMAGE):
        return f"the ledger {where} is damaged ({reason}); restore it from an export"
    return f"the ledger {where} could not be read or written: {reason}"
