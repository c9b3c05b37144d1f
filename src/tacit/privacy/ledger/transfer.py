"""A ledger as one JSON document: for backup, and for auditors."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import Table

from tacit.privacy.bounded_json import parse_json
from tacit.privacy.errors import LedgerError, TacitError
from tacit.privacy.files import ReplaceableFile
from tacit.privacy.ledger.book import DataSetAccounts, account_row
from tacit.privacy.ledger.chain import check_chains, forge_links
from tacit.privacy.ledger.rows import Row, SealedRows
from tacit.privacy.ledger.schema import (
    ACCOUNT,
    BUDGET,
    DATA_SET,
    DELIVERY,
    ENTRY,
    LEDGER,
    LIMIT,
    LINK,
    PART,
    REQUEST,
    RESERVATION,
    USE,
    VERSION,
)

__all__ = ["EXPORT", "FORMAT", "add_accounts", "export", "read_export", "restore"]

FORMAT = "tacit ledger 1"
EXPORT = ReplaceableFile("an export of a ledger", re.compile(rb'"format": "tacit ledger'))
"""What a new export may replace."""

_TABLES: dict[str, Table] = {
    "budgets": BUDGET,
    "parts": PART,
    "limits": LIMIT,
    "versions": VERSION,
    "entries": ENTRY,
    "requests": REQUEST,
    "deliveries": DELIVERY,
    "reservations": RESERVATION,
    "uses": USE,
    "links": LINK,
}
_LATER = ("limits", "requests", "deliveries", "reservations", "uses", "links")  # older exports have none
_BYTES = ("fingerprint", "key", "digest", "nonce", "link")


def export(rows: SealedRows, *, secret: bool) -> dict[str, Any]:
    """Return everything but the accounts, which follow from the entries."""
    ledger = rows.find(LEDGER)[0]
    document = {
        "format": FORMAT,
        "time": ledger["time"],
        "secret": rows.secret.hex() if secret else None,
        "data_sets": [_data_set(rows, row) for row in rows.find(DATA_SET)],
    }
    return document | {"checksum": _checksum(document)}


def read_export(source: str | Path | Mapping[str, Any]) -> dict[str, Any]:
    """Read an export and check that it is complete and has the secret, without which no data are recognized."""
    document = dict(source) if isinstance(source, Mapping) else _read(Path(source))
    if document.get("format") != FORMAT:
        raise LedgerError(f"restore must be an export of format {FORMAT!r}, got {document.get('format')!r}")
    claimed = document.pop("checksum", None)
    if claimed != _checksum(document):
        raise LedgerError("restore must be a complete export, but its checksum does not match; use another copy")
    if document.get("secret") is None:
        raise LedgerError("restore must be an export with the secret; this one was made for sharing")
    return document


def restore(rows: SealedRows, document: Mapping[str, Any]) -> None:
    """Write all of an export's rows, and compute the accounts."""
    try:
        for number, data_set in enumerate(document["data_sets"], start=1):
            _restore_data_set(rows, number, data_set)
        check_chains(rows)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, TacitError):
            raise
        raise LedgerError(f"restore must be an export of a ledger, but a field is wrong: {error!r}") from error


def _data_set(rows: SealedRows, row: Row) -> dict[str, Any]:
    terms = {"name": row["name"], "unit": row["unit"], "rows": row["rows"], "time": row["time"]}
    return terms | {
        name: [_plain(line) for line in rows.find(table, table.c.data_set == row["id"])]
        for name, table in _TABLES.items()
    }


def _plain(row: Row) -> dict[str, Any]:
    """Return a row as JSON: without its data set's number, with embedded JSON parsed and bytes in hex."""
    plain = {name: value for name, value in row.items() if name != "data_set"}
    for name in ("parts", "guarantee"):
        if plain.get(name) is not None:
            plain[name] = json.loads(plain[name])
    return plain | {name: bytes(plain[name]).hex() for name in _BYTES if name in plain}


def _row(plain: Mapping[str, Any]) -> dict[str, Any]:
    row = dict(plain)
    for name in ("parts", "guarantee"):
        if row.get(name) is not None:
            row[name] = json.dumps(row[name])
    return row | {name: bytes.fromhex(row[name]) for name in _BYTES if name in row}


def _restore_data_set(rows: SealedRows, number: int, plain: Mapping[str, Any]) -> None:
    terms = {name: value for name, value in plain.items() if name not in _TABLES}
    rows.add(DATA_SET, id=number, **terms)
    for name, table in _TABLES.items():
        for line in plain.get(name, ()) if name in _LATER else plain[name]:
            rows.add(table, data_set=number, **_row(line))
    if "links" not in plain:
        forge_links(rows, number)
    add_accounts(rows, terms["name"])


def add_accounts(rows: SealedRows, name: str) -> None:
    """Compute a data set's accounts, which it has not, from its entries."""
    book = DataSetAccounts.find(rows, name)
    for part, account in book.recount().items():
        rows.add(ACCOUNT, **account_row(book.id, book.parts[part]["number"], account, last=book.newest))


def _read(path: Path) -> dict[str, Any]:
    try:
        document = parse_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LedgerError(f"the export {path} cannot be read: {error.strerror}") from error
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise LedgerError(f"{path} is not an export of a ledger")
    return document


def _checksum(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
