"""The database of competitions and submissions: a SQLite file or a PostgreSQL database."""

from __future__ import annotations

import logging
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import Column, Connection, MetaData, QueuePool, String, Table, insert, select
from sqlalchemy.exc import DBAPIError, OperationalError

from tacit.privacy.database import PATIENCE, Database, first_line
from tacit.privacy.errors import InvalidInput
from tacit.privacy.revisions import Schema
from tacit.server.errors import Unavailable
from tacit.server.schema import SERVER, TABLES

__all__ = ["ServerDatabase"]

_APPLICATION_ID = 0x7AC18
"""What PRAGMA application_id says in a server's file: neither a ledger nor another program's file."""

_APPLICATION = slice(68, 72)  # where a SQLite file's header has it

_log = logging.getLogger("tacit.server")


class ServerDatabase(Database):
    """The server's database; SQLite keeps a write-ahead log, so leaderboards are read while submissions are written."""

    name = "database"
    refusal = InvalidInput
    schema = Schema(
        package="tacit.server",
        table="server_migration",
        revisions=("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0010"),
        application_id=_APPLICATION_ID,
    )
    journal = "WAL"
    pool = {"poolclass": QueuePool, "pool_size": 8, "max_overflow": 8, "pool_pre_ping": True}  # noqa: RUF012

    def exists(self) -> bool:
        """Return whether a server was started here, so that its data are under a key; nothing is written."""
        if self.file is not None:
            return _application(self.file) == _APPLICATION_ID
        self._reach()
        with self.reading() as connection:
            return self.revision(connection) is not None and connection.execute(select(SERVER)).first() is not None

    def prepare(self) -> None:
        """Create the tables if there are none, and bring older ones up to date."""
        if self.file:
            _make_file(self.file)
        self._reach()
        with self.reading() as connection:
            revision = self.revision(connection)
        if revision != self.schema.head:
            self.migrate()

    def migrate(self) -> None:
        """Create the tables at the last revision, or bring older ones up to date."""
        with self.founding() as connection:
            if self.revision(connection) is not None:
                self.schema.migrate(connection)
                return
            TABLES.create_all(connection)
            version = Table(self.schema.table, MetaData(), Column("version_num", String(32), primary_key=True))
            version.create(connection)
            connection.execute(insert(version).values(version_num=self.schema.head))

    @staticmethod
    def check_key(connection: Connection, expected: bytes) -> None:
        """Raise if the server's key was rotated; until the transaction ends no rotation begins."""
        found = connection.execute(select(SERVER.c.key_check).with_for_update(read=True)).scalar_one()
        if bytes(found) != expected:
            raise Unavailable("the server's key was rotated; nothing was written, start the server again")

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def failure(self, reason: str, *, error: Exception) -> Unavailable:
        """Return the public part of a failure; the log has the rest."""
        if isinstance(error, OperationalError):  # about the connection, the disk, a lock; others may quote values
            _log.error("the database failed: %s", reason)
        return Unavailable(f"the database could not be read or written: {_public(reason)}")

    def _reach(self) -> None:
        """Connect once, or tell the operator why that cannot be done: nothing stored is in such a message."""
        try:
            self.engine.connect().close()
        except DBAPIError as error:
            raise InvalidInput(f"database {self.where} cannot be opened: {first_line(error)}") from None


def _public(reason: str) -> str:
    """Keep the kind of failure, without the location or the content of the database."""
    known = ("locked", "disk is full", "readonly", "malformed", "refused", "closed", "unable to open")
    return next((word for word in known if word in reason), "see the server's log")


def _application(file: Path) -> int:
    """Return the value in the header of a SQLite file; 0 if there is no such file."""
    try:
        with file.open("rb") as content:
            header = content.read(_APPLICATION.stop)
    except OSError:
        return 0
    return int.from_bytes(header[_APPLICATION], "big") if header.startswith(b"SQLite format 3\0") else 0


def _make_file(file: Path) -> None:
    """Create an empty database that only its owner can read; another program's file is rejected."""
    try:
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        fresh = True
    except FileExistsError:
        fresh = file.stat().st_size == 0  # made by a process that was killed before its first write
    except OSError as error:
        raise InvalidInput(f"database {file} cannot be created: {error.strerror}; choose another place") from None
    try:
        with closing(sqlite3.connect(file, timeout=PATIENCE)) as connection:
            if fresh:
                connection.execute(f"PRAGMA application_id={_APPLICATION_ID}")
            elif connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION_ID:
                raise InvalidInput(f"database {file} is not a scoring server's; it was not changed")
    except sqlite3.DatabaseError:
        raise InvalidInput(f"database {file} is not a scoring server's, or is damaged; it was not changed") from None
