"""A SQLite file or a PostgreSQL database, with transactions that never lose a commit."""

from __future__ import annotations

import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError

from tacit.privacy.errors import InvalidInput, TacitError
from tacit.privacy.extras import load_extra
from tacit.privacy.revisions import Schema

__all__ = ["PATIENCE", "Database", "first_line"]

PATIENCE = 60
"""Seconds to wait for another process that writes."""


@dataclass(frozen=True)
class Database(ABC):
    """A database with a schema of its own, known by a path or a ``postgresql://`` URL.

    A subclass defines its schema, how connections are kept, and the words of a failure.
    """

    where: str
    """The path, or the URL without its password."""
    file: Path | None
    engine: Engine

    name: ClassVar[str]
    """Its name for users."""
    refusal: ClassVar[type[TacitError]]
    """The error of a database that cannot be used."""
    schema: ClassVar[Schema]
    journal: ClassVar[str]
    """SQLite's journal mode."""
    pool: ClassVar[Mapping[str, Any]]
    """SQLAlchemy's options for keeping connections."""

    @classmethod
    def at(cls, location: str | Path) -> Self:
        """Read a path or a URL; nothing is opened yet."""
        url = _url_of(location, name=cls.name)
        options = {"hide_parameters": True, **cls.pool}  # a message must not quote what was stored
        if url.get_backend_name() != "sqlite":
            engine = create_engine(url, **options)
            event.listen(engine, "begin", _begin_postgresql)
            shown = url.set(drivername="postgresql").render_as_string(hide_password=True)
            return cls(shown, None, engine)
        file = Path(str(url.database)).absolute()
        engine = create_engine("sqlite://", creator=lambda: _connect_sqlite(file, journal=cls.journal), **options)
        event.listen(engine, "begin", _begin_sqlite)
        return cls(str(url.database), file, engine)

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
        """A transaction that one process at a time can hold, for what is created once."""
        with self.writing() as connection:
            if self.file is None:
                connection.execute(text(f"SELECT pg_advisory_xact_lock({self.schema.application_id})"))
            yield connection

    def revision(self, connection: Connection) -> str | None:
        """Return the revision of the tables, None if there are none; a newer one than this tacit's is rejected."""
        revision = self.schema.revision(connection)
        if revision is None or revision in self.schema.revisions:
            return revision
        raise self.refusal(
            f"the {self.name} {self.where} has schema version {revision}, which this tacit does not know; update tacit"
        )

    def migrate(self) -> None:
        """Create the tables, or bring older ones up to date."""
        with self.founding() as connection:
            self.schema.migrate(connection)

    def check(self) -> None:  # noqa: B027
        """Raise before a transaction if the place has changed; by default nothing is checked."""

    @abstractmethod
    def failure(self, reason: str, *, error: Exception) -> TacitError:
        """Return the error of a transaction that failed, from the first line of the driver's message."""

    @contextmanager
    def _transaction(self, *, writing: bool) -> Iterator[Connection]:
        self.check()
        try:
            with self.engine.connect().execution_options(writing=writing) as connection, connection.begin():
                yield connection
        except DBAPIError as error:
            raise self.failure(first_line(error), error=error) from error
        except UnicodeDecodeError as error:  # sqlite3 quotes the damaged text in its message
            raise self.failure("malformed text", error=error) from error


def first_line(error: DBAPIError) -> str:
    """Return the driver's message, without the statement."""
    return str(error.orig).strip().partition("\n")[0]


def _url_of(location: str | Path, *, name: str) -> URL:
    if location != "" and (isinstance(location, Path) or "://" not in location):
        return URL.create("sqlite", database=os.fspath(location))
    scheme, separator, _ = str(location).partition("://")  # the rest may hold a password
    shown = f"{scheme}://..." if separator else "''"
    refused = InvalidInput(f"{name} must be a file or a postgresql:// URL, got {shown}")
    try:
        url = make_url(str(location))
    except (ArgumentError, ValueError):
        raise refused from None
    if url.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        load_extra("psycopg", extra="postgres")
        return url.set(drivername="postgresql+psycopg")
    if url.drivername == "sqlite" and url.database not in (None, "", ":memory:") and not url.query:
        return url
    raise refused


def _connect_sqlite(file: Path, *, journal: str) -> sqlite3.Connection:
    """Open an existing file; BEGIN and COMMIT are ours, as the driver's own BEGIN takes no lock."""
    connection = sqlite3.connect(
        f"{file.as_uri()}?mode=rw", uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False
    )
    try:
        for pragma in (f"journal_mode={journal}", "synchronous=FULL", "fullfsync=ON", "foreign_keys=ON"):
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
        # a server may have other defaults: a transaction that waited for a lock would not see what the one before it
        # wrote, and the last commits would be lost when the machine stops
        connection.exec_driver_sql(
            "SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE; SET LOCAL synchronous_commit = on"
        )
    else:
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
