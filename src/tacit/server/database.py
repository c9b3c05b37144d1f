"""Where the server keeps competitions and submissions: a SQLite file or a PostgreSQL database."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, select, text
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError
from sqlalchemy.pool import QueuePool

from tacit.privacy.errors import InvalidInput
from tacit.server.errors import Unavailable
from tacit.server.migrate import HEAD, REVISIONS, current_revision, migrate
from tacit.server.schema import SERVER

__all__ = ["Database"]

APPLICATION_ID = 0x7AC18
"""What PRAGMA application_id says in a server's file: neither a ledger nor another program's file."""

_APPLICATION = slice(68, 72)  # where a SQLite file's header has it

PATIENCE = 60
"""Seconds to wait for another process that writes."""

_log = logging.getLogger("tacit.server")


@dataclass(frozen=True, slots=True)
class Database:
    """A database by its URL; every committed transaction is on disk.

    SQLite keeps a write-ahead log, so that leaderboards are read while submissions are written.

    Examples
    --------
    >>> Database.at("server.db").where, Database.at("postgresql://me:secret@host/scores").where
    ('server.db', 'postgresql+psycopg://me:***@host/scores')
    """

    where: str
    file: Path | None
    engine: Engine

    @classmethod
    def at(cls, location: str | Path) -> Database:
        """Read a path or a URL; nothing is opened yet.

        Examples
        --------
        >>> Database.at("mysql://host/scores")
        Traceback (most recent call last):
        ...
        tacit.privacy.errors.InvalidInput: database must be a file or a postgresql:// URL, got mysql://...
        """
        url = _url_of(location)
        if url.get_backend_name() != "sqlite":
            engine = create_engine(url, hide_parameters=True, pool_size=8, max_overflow=8, pool_pre_ping=True)
            event.listen(engine, "begin", _begin_postgresql)
            return cls(url.render_as_string(hide_password=True), None, engine)
        file = Path(str(url.database)).absolute()
        engine = create_engine(
            "sqlite://",
            hide_parameters=True,  # a message must not quote what was stored
            poolclass=QueuePool,
            pool_size=8,
            max_overflow=8,
            creator=lambda: _connect_sqlite(file),
        )
        event.listen(engine, "begin", _begin_sqlite)
        return cls(str(url.database), file, engine)

    def exists(self) -> bool:
        """Tell whether a server was begun here, so that what it keeps is under a key; nothing is written.

        Examples
        --------
        >>> Database.at("no such file").exists()
        False
        """
        if self.file is not None:
            return _application(self.file) == APPLICATION_ID
        self._reach()
        with self.reading() as connection:
            return current_revision(connection) is not None and connection.execute(select(SERVER)).first() is not None

    def prepare(self) -> None:
        """Make the tables where there are none, and bring older ones up to date.

        Examples
        --------
        >>> import tempfile
        >>> database = Database.at(Path(tempfile.mkdtemp()) / "server.db")
        >>> database.prepare()
        >>> with database.reading() as connection:
        ...     current_revision(connection) == HEAD
        True
        """
        if self.file:
            _make_file(self.file)
        self._reach()
        with self.founding() as connection:
            revision = current_revision(connection)
            if revision is not None and revision not in REVISIONS:
                raise InvalidInput(
                    f"database {self.where} has schema version {revision}, which this tacit does not know; update tacit"
                )
            if revision != HEAD:
                migrate(connection)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads: it sees one state."""
        with self._transaction(writing=False) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that may write; in SQLite it holds the file's only write lock from its first moment."""
        with self._transaction(writing=True) as connection:
            yield connection

    @contextmanager
    def founding(self) -> Iterator[Connection]:
        """A transaction that may write, for what is made once: one process at a time is in it, as with SQLite."""
        with self.writing() as connection:
            if self.file is None:
                connection.execute(text(f"SELECT pg_advisory_xact_lock({APPLICATION_ID})"))
            yield connection

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def _reach(self) -> None:
        """Connect once, or tell the operator why that cannot be done: nothing stored is in such a message."""
        try:
            self.engine.connect().close()
        except DBAPIError as error:
            raise InvalidInput(f"database {self.where} cannot be opened: {_reason(error)}") from None

    @contextmanager
    def _transaction(self, *, writing: bool) -> Iterator[Connection]:
        try:
            with self.engine.connect().execution_options(writing=writing) as connection, connection.begin():
                yield connection
        except DBAPIError as error:
            if isinstance(error, OperationalError):  # about the connection, the disk, a lock; others may quote values
                _log.error("the database failed: %s", _reason(error))
            raise Unavailable(f"the database could not be read or written: {_public(_reason(error))}") from error


def _reason(error: DBAPIError) -> str:
    return str(error.orig).strip().partition("\n")[0]


def _public(reason: str) -> str:
    """Keep what kind of trouble it is: where the database is, and what is in it, is not for everybody."""
    known = ("locked", "disk is full", "readonly", "malformed", "refused", "closed", "unable to open")
    return next((word for word in known if word in reason), "see the server's log")


def _url_of(location: str | Path) -> URL:
    if isinstance(location, Path) or "://" not in location:
        return URL.create("sqlite", database=os.fspath(location))
    scheme = location.partition("://")[0]  # the rest may hold a password
    refused = InvalidInput(f"database must be a file or a postgresql:// URL, got {scheme}://...")
    try:
        url = make_url(location)
    except (ArgumentError, ValueError):
        raise refused from None
    if url.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        return url.set(drivername="postgresql+psycopg")
    raise refused


def _application(file: Path) -> int:
    """Return what the header of a SQLite file says; 0 where there is no such file."""
    try:
        with file.open("rb") as content:
            header = content.read(_APPLICATION.stop)
    except OSError:
        return 0
    return int.from_bytes(header[_APPLICATION], "big") if header.startswith(b"SQLite format 3\0") else 0


def _make_file(file: Path) -> None:
    """Make an empty database that its owner alone may read; another program's file is refused."""
    try:
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        fresh = True
    except FileExistsError:
        fresh = file.stat().st_size == 0  # made by a process that was killed before its first write
    except OSError as error:
        raise InvalidInput(f"database {file} cannot be made: {error.strerror}; choose another place") from None
    try:
        with closing(sqlite3.connect(file, timeout=PATIENCE)) as connection:
            if fresh:
                connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            elif connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
                raise InvalidInput(f"database {file} is not a scoring server's; it was left as it is")
    except sqlite3.DatabaseError:
        raise InvalidInput(f"database {file} is not a scoring server's, or is damaged; it was left as it is") from None


def _connect_sqlite(file: Path) -> sqlite3.Connection:
    """Open an existing file; BEGIN and COMMIT are ours, as the driver's own BEGIN takes no lock."""
    connection = sqlite3.connect(
        f"{file.as_uri()}?mode=rw", uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False
    )
    try:
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "fullfsync=ON", "foreign_keys=ON"):
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
        # a server may have other defaults: it forgets the last commits when its machine stops, or a transaction that
        # waited for a lock does not see what the one before it wrote
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = on")
    else:
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
