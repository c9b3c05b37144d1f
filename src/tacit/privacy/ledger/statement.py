"""The ledger's statement about one data set."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tacit.privacy.ledger.book import DataSetAccounts, guarantee_of
from tacit.privacy.ledger.records import DataSetStatement, DataSetVersion, LedgerEntry, PartSpend
from tacit.privacy.ledger.rows import Row
from tacit.privacy.ledger.schema import VERSION

__all__ = ["statement"]


def statement(book: DataSetAccounts) -> DataSetStatement:
    """Read a data set's terms, spend, versions and entries in one transaction."""
    parts = tuple(_part(book, name) for name in book.parts)
    spent = max(part.spent for part in parts)
    versions = book.rows.find(VERSION, VERSION.c.data_set == book.id)
    return DataSetStatement(
        name=book.name,
        budget=book.budget,
        spent=spent,
        left=book.left(spent),
        parts=parts,
        versions=tuple(
            DataSetVersion(data_set=book.name, number=row["number"], rows=row["rows"], time=row["time"])
            for row in versions
        ),
        entries=_entries(book.name, book.entries()),
    )


def _part(book: DataSetAccounts, name: str) -> PartSpend:
    row = book.parts[name]
    spent = book.spent(book.account(name))
    lines = None if row["start"] is None else range(row["start"], row["stop"])
    return PartSpend(name=name, rows=lines, spent=spent, left=book.left(spent))


def _entries(name: str, rows: Sequence[Row]) -> tuple[LedgerEntry, ...]:
    voided_by = {row["voids"]: f"{name}/{row['number']}" for row in rows if row["voids"] is not None}
    return tuple(
        LedgerEntry(
            id=f"{name}/{row['number']}",
            time=row["time"],
            version=row["version"],
            parts=tuple(json.loads(row["parts"])),
            guarantee=None if row["guarantee"] is None else guarantee_of(row["guarantee"]),
            purpose=row["purpose"],
            voids=None if row["voids"] is None else f"{name}/{row['voids']}",
            voided_by=voided_by.get(row["number"]),
        )
        for row in rows
    )
