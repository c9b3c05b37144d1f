"""A schema and the revisions that lead to it, applied by Alembic inside one transaction."""

from __future__ import annotations

import importlib.resources
from dataclasses import dataclass
from threading import Lock
from typing import Any

from sqlalchemy import Connection, inspect, text

__all__ = ["Schema"]

_ALEMBIC = Lock()  # its revisions write through one object for all threads


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The tables that one part of tacit keeps in a database.

    Parameters
    ----------
    package
        The package whose folder ``migrations`` has the revisions.
    table
        Where a database keeps its present revision.
    revisions
        All revisions, oldest first: opening a database that has the last one needs no Alembic.
    application_id
        Marks a SQLite file as one with these tables, and numbers the lock of their founding in PostgreSQL.
    """

    package: str
    table: str
    revisions: tuple[str, ...]
    application_id: int

    @property
    def head(self) -> str:
        """The revision that this version of tacit works with."""
        return self.revisions[-1]

    def revision(self, connection: Connection) -> str | None:
        """Return the revision of a database, or None if it has none of the tables."""
        if not inspect(connection).has_table(self.table):
            return None
        revision: str | None = connection.execute(text(f"SELECT version_num FROM {self.table}")).scalar()
        return revision

    def migrate(self, connection: Connection) -> None:
        """Apply the missing revisions inside the caller's transaction: all of them are applied, or none."""
        from alembic.config import Config
        from alembic.runtime.environment import EnvironmentContext
        from alembic.script import ScriptDirectory

        with importlib.resources.as_file(importlib.resources.files(self.package) / "migrations") as folder:
            script = ScriptDirectory(folder)

            def steps(revision: Any, _context: Any) -> Any:  # noqa: ANN401
                return script._upgrade_revs(self.head, revision)

            with _ALEMBIC, EnvironmentContext(Config(), script, fn=steps) as environment:
                environment.configure(connection=connection, version_table=self.table)
                environment.run_migrations()
