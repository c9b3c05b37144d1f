"""Bring a database to the schema that this version of tacit knows, by Alembic revisions inside one transaction."""

from __future__ import annotations

import importlib.resources
from typing import Any

from sqlalchemy import Connection, inspect, text

__all__ = ["apply_revisions", "read_revision"]


def read_revision(connection: Connection, *, table: str) -> str | None:
    """Return the revision that ``table`` names, or None where there is no such table.

    Examples
    --------
    >>> from sqlalchemy import create_engine
    >>> with create_engine("sqlite://").connect() as connection:
    ...     read_revision(connection, table="ledger_migration") is None
    True
    """
    if not inspect(connection).has_table(table):
        return None
    revision: str | None = connection.execute(text(f"SELECT version_num FROM {table}")).scalar()
    return revision


def apply_revisions(connection: Connection, *, package: str, table: str, to: str) -> None:
    """Apply the missing revisions inside the caller's transaction: all of them are applied, or none.

    Parameters
    ----------
    package
        The package whose folder ``migrations`` holds the revisions.
    table
        Where the present revision is kept.
    to
        The revision to reach.

    Examples
    --------
    >>> from sqlalchemy import create_engine
    >>> with create_engine("sqlite://").begin() as connection:
    ...     apply_revisions(connection, package="tacit.privacy.ledger", table="ledger_migration", to="0001")
    ...     read_revision(connection, table="ledger_migration")
    '0001'
    """
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.script import ScriptDirectory

    with importlib.resources.as_file(importlib.resources.files(package) / "migrations") as folder:
        script = ScriptDirectory(folder)

        def steps(revision: Any, _context: Any) -> Any:  # noqa: ANN401
            return script._upgrade_revs(to, revision)

        with EnvironmentContext(Config(), script, fn=steps) as environment:
            environment.configure(connection=connection, version_table=table)
            environment.run_migrations()
