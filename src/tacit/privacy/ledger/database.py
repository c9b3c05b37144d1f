"""The database of a ledger: a SQLite file or a PostgreSQL database."""

from __future__ import annotations

from sqlalchemy import NullPool

from tacit.privacy.database import PATIENCE, Database
from tacit.privacy.errors import LedgerError
from tacit.privacy.ledger.sqlite_file import APPLICATION_ID, check_file
from tacit.privacy.revisions import Schema

__all__ = ["LedgerDatabase"]

_DAMAGE = ("malformed", "not a database", "not decode", "no such column", "no such table")


class LedgerDatabase(Database):
    """A ledger's database; every transaction has a connection of its own, so forks and threads are safe."""

    name = "ledger"
    refusal = LedgerError
    schema = Schema(
        package="tacit.privacy.ledger",
        table="ledger_migration",
        revisions=("0001", "0002", "0003", "0004", "0005", "0006", "0007"),
        application_id=APPLICATION_ID,
    )
    journal = "DELETE"
    pool = {"poolclass": NullPool}  # noqa: RUF012

    def check(self) -> None:
        """Raise unless the file is a ledger, because SQLite might write to another file when it opens it."""
        if self.file:
            check_file(self.file, where=self.where)

    def failure(self, reason: str, *, error: Exception) -> LedgerError:  # noqa: ARG002
        """Return the error of a failure, with the remedy: wait, restore, or look at the reason."""
        if "locked" in reason:
            return LedgerError(
                f"the ledger {self.where} was busy for {PATIENCE} s; try again when no other process writes to it"
            )
        if any(sign in reason for sign in _DAMAGE):
            return LedgerError(f"the ledger {self.where} is damaged ({reason}); restore it from an export")
        if reason.startswith(("connection failed", "failed to resolve")):
            return LedgerError(f"the ledger {self.where} cannot be reached: {reason.rpartition('failed: ')[2]}")
        return LedgerError(f"the ledger {self.where} could not be read or written: {reason}")
