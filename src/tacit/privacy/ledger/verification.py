"""Whether a ledger is whole, and whether it is the one that gave a receipt or an export."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tacit.privacy.errors import InvalidInput, LedgerError
from tacit.privacy.ledger.book import DataSetAccounts
from tacit.privacy.ledger.chain import check_chains, check_head
from tacit.privacy.ledger.records import split_id
from tacit.privacy.ledger.rows import SealedRows
from tacit.privacy.ledger.schema import DATA_SET

__all__ = ["check_against", "verify"]


def verify(rows: SealedRows) -> int:
    """Return the number of entries, or raise if one is missing or changed, or an account is not what they say."""
    check_chains(rows)
    count = 0
    for data_set in rows.find(DATA_SET):
        book = DataSetAccounts.find(rows, data_set["name"])
        count += book.newest
        recounted = book.recount()
        for part, account in book.accounts().items():
            if account != recounted[part]:
                raise LedgerError(
                    f"the ledger is damaged: the account of {part} of {book.name} is not what its entries say; "
                    "restore an export"
                )
    return count


def check_against(rows: SealedRows, against: str | Path | Mapping[str, Any]) -> None:
    """Raise unless the ledger has the entries of a receipt or an export, with the same history."""
    document = against if isinstance(against, Mapping) else _read(Path(against))
    heads = list(_heads(document))
    if not heads:
        raise InvalidInput("must be a receipt or an export of a ledger with entries", field="against")
    for name, number, head in heads:
        check_head(rows, name=name, number=number, head=head)


def _heads(document: Mapping[str, Any]) -> Iterator[tuple[str, int, str]]:
    try:
        if "head" in document:
            yield *split_id(document["id"]), str(document["head"])
        for data_set in document.get("data_sets", ()):
            for link in data_set["links"][-1:]:
                yield str(data_set["name"]), int(link["number"]), str(link["link"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InvalidInput("must be a receipt or an export of a ledger", field="against") from error


def _read(path: Path) -> Mapping[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror}", field="against") from error
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise InvalidInput(f"must be a receipt or an export of a ledger, got {path}", field="against")
    return document
