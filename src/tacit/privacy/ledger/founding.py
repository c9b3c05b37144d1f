"""Creating and opening a ledger: its tables, its secret, and the integrity of its file."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select, text

from tacit.privacy.errors import LedgerError
from tacit.privacy.files import write_atomically
from tacit.privacy.ledger.book import now
from tacit.privacy.ledger.chain import check_chains, forge_links
from tacit.privacy.ledger.database import LedgerDatabase
from tacit.privacy.ledger.rows import SealedRows
from tacit.privacy.ledger.schema import DATA_SET, LEDGER
from tacit.privacy.ledger.sqlite_file import stamp
from tacit.privacy.ledger.transfer import add_accounts, restore

__all__ = ["exists", "found", "open_database"]

_FILTERED = "0004"
"""The first revision with accounts as sums, and with a chain."""


def exists(database: LedgerDatabase) -> bool:
    """Return whether a ledger, or a file of that name, exists."""
    if database.file is not None:
        return os.path.lexists(database.file)
    with database.reading() as connection:
        return database.schema.revision(connection) is not None


def found(database: LedgerDatabase, document: Mapping[str, Any] | None) -> None:
    """Create a new ledger, empty or from an export; a file takes its name only when it is complete."""
    if database.file is None:
        _fill(database, document)
    elif exists(database):
        raise LedgerError(f"{database.where} exists already; it was not changed")
    else:
        with write_atomically(database.file, mode=0o600) as draft:
            stamp(Path(draft.name))
            _fill(replace(LedgerDatabase.at(Path(draft.name)), where=database.where), document)


def _fill(database: LedgerDatabase, document: Mapping[str, Any] | None) -> None:
    """Create the tables and the secret, or those of an export, in one transaction."""
    secret = secrets.token_bytes(32) if document is None else bytes.fromhex(document["secret"])
    with database.founding() as connection:
        if database.revision(connection) is not None:
            raise LedgerError(f"there is a ledger at {database.where} already; it was not changed")
        database.schema.migrate(connection)
        rows = SealedRows(connection, secret)
        rows.add(LEDGER, id=1, secret=secret, time=now() if document is None else document["time"])
        if document is not None:
            restore(rows, document)


def open_database(database: LedgerDatabase) -> bytes:
    """Check an existing ledger, bring an older schema up to date, and return its secret."""
    with database.reading() as connection:
        _check_sound(database, connection)
        revision = database.revision(connection)
        if revision == database.schema.head:
            return _secret(connection)
    if revision is None:
        raise LedgerError(f"there is no ledger at {database.where}; create one with `tacit ledger create`")
    with database.founding() as connection:
        _bring_up_to_date(database, connection)
        return _secret(connection)


def _bring_up_to_date(database: LedgerDatabase, connection: Connection) -> None:
    """Apply the missing revisions, and compute what they left empty: the accounts and the chain."""
    before = database.revision(connection)  # another process may have been here meanwhile
    database.schema.migrate(connection)
    if before is not None and before < _FILTERED:
        rows = SealedRows(connection, _sealed_secret(connection))
        for data_set in rows.find(DATA_SET):
            forge_links(rows, data_set["id"])
            add_accounts(rows, data_set["name"])


def _check_sound(database: LedgerDatabase, connection: Connection) -> None:
    if database.file is not None:
        # the quick check would miss a damaged index, through which rows are not found
        verdict = connection.execute(text("PRAGMA integrity_check(1)")).scalar()
        if verdict != "ok":
            raise LedgerError(f"the ledger {database.where} is damaged ({verdict}); restore it from an export")


def _secret(connection: Connection) -> bytes:
    secret = _sealed_secret(connection)
    check_chains(SealedRows(connection, secret))
    return secret


def _sealed_secret(connection: Connection) -> bytes:
    secret = connection.execute(select(LEDGER.c.secret)).scalar()
    if secret is None:
        raise LedgerError("the ledger is damaged: it has lost its secret; restore it from an export")
    SealedRows(connection, bytes(secret)).find(LEDGER)
    return bytes(secret)
