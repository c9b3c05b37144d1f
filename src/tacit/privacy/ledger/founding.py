"""Creating and opening a ledger: its tables, its secret, and the integrity of its file."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select, text

from tacit.privacy.errors import LedgerError, TacitError
from tacit.privacy.files import write_atomically
from tacit.privacy.ledger.book import now
from tacit.privacy.ledger.chain import check_chains, forge_links
from tacit.privacy.ledger.database import LedgerDatabase
from tacit.privacy.ledger.rows import SealedRows
from tacit.privacy.ledger.schema import DATA_SET, LEDGER
from tacit.privacy.ledger.secret import SealingKey, is_clear, open_secret, seal_secret
from tacit.privacy.ledger.sqlite_file import stamp
from tacit.privacy.ledger.transfer import add_accounts, restore

__all__ = ["exists", "found", "open_database", "reseal"]

_FILTERED = "0004"
"""The first revision with accounts as sums, and with a chain."""


def exists(database: LedgerDatabase) -> bool:
    """Return whether a ledger, or a file of that name, exists."""
    if database.file is not None:
        return os.path.lexists(database.file)
    with database.reading() as connection:
        return database.schema.revision(connection) is not None


def found(database: LedgerDatabase, document: Mapping[str, Any] | None, *, sealing: SealingKey | None = None) -> None:
    """Create a new ledger, empty or from an export; a file takes its name only when it is complete."""
    if database.file is None:
        _fill(database, document, sealing=sealing)
    elif exists(database):
        raise LedgerError(f"{database.where} exists already; it was not changed")
    else:
        with write_atomically(database.file, mode=0o600) as draft:
            stamp(Path(draft.name))
            _fill(replace(LedgerDatabase.at(Path(draft.name)), where=database.where), document, sealing=sealing)


def _fill(database: LedgerDatabase, document: Mapping[str, Any] | None, *, sealing: SealingKey | None) -> None:
    """Create the tables and the secret, or those of an export, in one transaction."""
    secret = secrets.token_bytes(32) if document is None else bytes.fromhex(document["secret"])
    with database.founding() as connection:
        if database.revision(connection) is not None:
            raise LedgerError(f"there is a ledger at {database.where} already; it was not changed")
        database.schema.migrate(connection)
        rows = SealedRows(connection, secret)
        kept = secret if sealing is None else seal_secret(secret, sealing)
        rows.add(LEDGER, id=1, secret=kept, time=now() if document is None else document["time"])
        if document is not None:
            restore(rows, document)


def open_database(database: LedgerDatabase, *, sealing: SealingKey | None = None) -> bytes:
    """Check an existing ledger, bring an older schema up to date, and return its secret.

    With a key, a secret that was stored in clear is sealed, so that the next copy of the ledger has none.
    """
    with database.reading() as connection:
        _check_sound(database, connection)
        revision = database.revision(connection)
        if revision == database.schema.head and not (sealing and _is_clear(connection)):
            return _secret(connection, sealing)
    if revision is None:
        raise LedgerError(f"there is no ledger at {database.where}; create one with `tacit ledger create`")
    with database.founding() as connection:
        _bring_up_to_date(database, connection, sealing)
        if sealing is not None:
            _seal(database, connection, sealing)
        return _secret(connection, sealing)


def _bring_up_to_date(database: LedgerDatabase, connection: Connection, sealing: SealingKey | None) -> None:
    """Apply the missing revisions, and compute what they left empty: the accounts and the chain."""
    before = database.revision(connection)  # another process may have been here meanwhile
    database.schema.migrate(connection)
    if before is not None and before < _FILTERED:
        rows = SealedRows(connection, _sealed_secret(connection, sealing))
        for data_set in rows.find(DATA_SET):
            forge_links(rows, data_set["id"])
            add_accounts(rows, data_set["name"])


def _seal(database: LedgerDatabase, connection: Connection, sealing: SealingKey) -> None:
    """Store the secret under a key, and leave no trace of it in the file."""
    if not _is_clear(connection):
        return
    _keep(database, connection, _sealed_secret(connection, None), sealing)


def reseal(database: LedgerDatabase, *, old: SealingKey, new: SealingKey) -> None:
    """Store the secret under a new key; where it has it already, nothing changes."""
    with database.founding() as connection:
        try:
            _sealed_secret(connection, new)
        except TacitError:
            _keep(database, connection, _sealed_secret(connection, old), new)


def _keep(database: LedgerDatabase, connection: Connection, secret: bytes, sealing: SealingKey) -> None:
    rows = SealedRows(connection, secret)
    row = {**rows.find(LEDGER)[0], "secret": seal_secret(secret, sealing)}
    with _without_triggers(database, connection):
        rows.change(LEDGER, **row)


@contextmanager
def _without_triggers(database: LedgerDatabase, connection: Connection) -> Iterator[None]:
    """Let the ledger's own row, which is append-only, be replaced within this transaction."""
    if database.file is None:
        connection.exec_driver_sql("ALTER TABLE ledger DISABLE TRIGGER USER")
        yield
        connection.exec_driver_sql("ALTER TABLE ledger ENABLE TRIGGER USER")
        return
    connection.exec_driver_sql("PRAGMA secure_delete=ON")  # what was replaced is overwritten
    known = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'ledger'"
    triggers = connection.exec_driver_sql(known).all()
    for name, _ in triggers:
        connection.exec_driver_sql(f"DROP TRIGGER {name}")
    yield
    for _, statement in triggers:
        connection.exec_driver_sql(statement)


def _check_sound(database: LedgerDatabase, connection: Connection) -> None:
    if database.file is not None:
        # the quick check would miss a damaged index, through which rows are not found
        verdict = connection.execute(text("PRAGMA integrity_check(1)")).scalar()
        if verdict != "ok":
            raise LedgerError(f"the ledger {database.where} is damaged ({verdict}); restore it from an export")


def _secret(connection: Connection, sealing: SealingKey | None) -> bytes:
    secret = _sealed_secret(connection, sealing)
    check_chains(SealedRows(connection, secret))
    return secret


def _sealed_secret(connection: Connection, sealing: SealingKey | None) -> bytes:
    """Return the secret, whose own row it seals too."""
    secret = open_secret(_stored(connection), sealing)
    SealedRows(connection, secret).find(LEDGER)
    return secret


def _is_clear(connection: Connection) -> bool:
    return is_clear(_stored(connection))


def _stored(connection: Connection) -> bytes:
    stored = connection.execute(select(LEDGER.c.secret)).scalar()
    if stored is None:
        raise LedgerError("the ledger is damaged: it has lost its secret; restore it from an export")
    return bytes(stored)
