"""Bring a database to the schema that this version of tacit knows."""

from __future__ import annotations

import importlib.resources
from typing import Any

from sqlalchemy import Connection, inspect, text

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
    if not inspect(connection).has_table(_TABLE):
        return None
    revision: str | None = connection.execute(text(f"SELECT version_num FROM {_TABLE}")).scalar()
    return revision


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
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.script import ScriptDirectory

    with importlib.resources.as_file(importlib.resources.files(__package__) / "migrations") as folder:
        script = ScriptDirectory(folder)

        def steps(revision: Any, _context: Any) -> Any:  # noqa: ANN401
            return script._upgrade_revs(to, revision)

        with EnvironmentContext(Config(), script, fn=steps) as environment:
            environment.configure(connection=connection, version_table=_TABLE)
            environment.run_migrations()
