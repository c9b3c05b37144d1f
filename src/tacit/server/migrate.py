"""Bring a database to the schema that this version of tacit knows."""

from __future__ import annotations

from sqlalchemy import Connection

from tacit.privacy.revisions import apply_revisions, read_revision

__all__ = ["HEAD", "REVISIONS", "current_revision", "migrate"]

REVISIONS = ("0001",)
"""All revisions, named here so that opening a database that has the last one needs no Alembic."""

HEAD = REVISIONS[-1]

_TABLE = "server_migration"


def current_revision(connection: Connection) -> str | None:
    """Return the revision of the server's tables in a database, or None where there are none.

    Examples
    --------
    >>> from sqlalchemy import create_engine
    >>> with create_engine("sqlite://").connect() as connection:
    ...     current_revision(connection) is None
    True
    """
    return read_revision(connection, table=_TABLE)


def migrate(connection: Connection, *, to: str = HEAD) -> None:
    """Apply the missing revisions inside the caller's transaction: all of them are applied, or none.

    Examples
    --------
    >>> from sqlalchemy import create_engine
    >>> with create_engine("sqlite://").begin() as connection:
    ...     migrate(connection)
    ...     current_revision(connection) == HEAD
    True
    """
    apply_revisions(connection, package=__package__, table=_TABLE, to=to)
