"""The ledger's schema, and the revisions that lead to it."""

from __future__ import annotations

from tacit.privacy.ledger.sqlite_file import APPLICATION_ID
from tacit.privacy.revisions import Schema

__all__ = ["REVISIONS", "SCHEMA", "current_revision"]

REVISIONS = ("0001", "0002", "0003")
"""All revisions, named here so that opening a ledger that has the last one needs no Alembic."""

SCHEMA = Schema(
    package="tacit.privacy.ledger", table="ledger_migration", revisions=REVISIONS, application_id=APPLICATION_ID
)

current_revision = SCHEMA.revision
