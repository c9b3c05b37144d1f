"""The chain of a data set's entries: each link digests the one before, a nonce, the entry and the budget in force."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import select

from tacit.privacy.errors import LedgerError
from tacit.privacy.ledger.rows import Row, SealedRows
from tacit.privacy.ledger.schema import BUDGET, DATA_SET, ENTRY, LIMIT, LINK, PART, RESERVATION, USE

__all__ = [
    "RESERVES",
    "START",
    "ReservedFact",
    "add_link",
    "check_chains",
    "check_head",
    "forge_links",
    "limits_of",
    "use_fact",
]

START = bytes(32)
"""What the first link of a data set follows."""

RESERVES = ("reserves",)

PartLimits = Mapping[str, list[str]]
ReservedFact = Sequence[str | int] | None
"""Whether an entry reserves releases, or which reserved release it makes."""

_ENTRY = ("number", "time", "version", "parts", "guarantee", "purpose", "voids")
_BUDGET = ("number", "epsilon", "delta")


def add_link(
    rows: SealedRows, data_set: int, entry: Mapping[str, Any], *, limits: PartLimits, fact: ReservedFact = None
) -> bytes:
    """Link an entry that was just written to the one before it, and return the head of the chain."""
    last = rows.last(LINK, LINK.c.data_set == data_set)
    budget = rows.last(BUDGET, BUDGET.c.data_set == data_set)
    assert budget is not None
    nonce = secrets.token_bytes(16)
    head = _link(START if last is None else bytes(last["link"]), nonce, entry, budget, limits, fact)
    rows.add(LINK, data_set=data_set, number=entry["number"], nonce=nonce, budget=budget["number"], link=head)
    return head


def forge_links(rows: SealedRows, data_set: int) -> None:
    """Link the entries of a ledger that had no chain yet."""
    for entry in rows.find(ENTRY, ENTRY.c.data_set == data_set):
        add_link(rows, data_set, entry, limits={})


def check_chains(rows: SealedRows) -> None:
    """Raise unless every data set's entries are there without a gap, as they were linked."""
    names = {row["id"]: row["name"] for row in _read(rows, DATA_SET)}
    budgets = {(row["data_set"], row["number"]): row for row in _read(rows, BUDGET)}
    links: dict[int, list[Row]] = {}
    for link in _read(rows, LINK):
        links.setdefault(link["data_set"], []).append(link)
    entries: dict[int, list[Row]] = {}
    for entry in _read(rows, ENTRY):
        entries.setdefault(entry["data_set"], []).append(entry)
    facts = {(row["data_set"], row["number"]): RESERVES for row in _read(rows, RESERVATION)}
    facts |= {(row["data_set"], row["number"]): use_fact(row) for row in _read(rows, USE)}
    for data_set in {*links, *entries}:
        mine, name = (entries.get(data_set, []), links.get(data_set, [])), names.get(data_set, "?")
        own = ([row for row in _read(rows, one) if row["data_set"] == data_set] for one in (PART, LIMIT))
        try:
            _check_chain(name, *mine, budgets=budgets, limits=limits_of(*own), facts=facts)
        except (TypeError, ValueError, KeyError):  # a changed byte may change the type of a value
            raise LedgerError(
                f"the ledger is damaged: an entry of {name} was changed; restore it from an export"
            ) from None


def check_head(rows: SealedRows, *, name: str, number: int, head: str) -> None:
    """Raise unless the chain of a data set passes through this head at this entry."""
    found = [row["id"] for row in rows.find(DATA_SET, DATA_SET.c.name == name)]
    links = rows.find(LINK, LINK.c.data_set == found[0], LINK.c.number == number) if found else []
    if not links:
        raise LedgerError(
            f"the ledger has no entry {name}/{number}, which was accepted once: it is an older copy, or its last "
            "entries were deleted"
        )
    if bytes(links[0]["link"]).hex() != head:
        raise LedgerError(f"the ledger has another history up to {name}/{number} than when that entry was accepted")


def use_fact(use: Mapping[str, Any]) -> ReservedFact:
    """Return which reserved release an entry makes."""
    return [use["reservation"], use["place"]]


def _check_chain(
    name: str,
    entries: list[Row],
    links: list[Row],
    *,
    budgets: Mapping[tuple[int, int], Row],
    limits: PartLimits,
    facts: Mapping[tuple[int, int], ReservedFact],
) -> None:
    head = START
    for number, (entry, link) in enumerate(_paired(entries, links), start=1):
        if entry is None or link is None or not entry["number"] == link["number"] == number:
            raise LedgerError(f"the ledger is damaged: {name}/{number} is missing; restore it from an export")
        budget = budgets.get((link["data_set"], link["budget"]))
        fact = facts.get((link["data_set"], number))
        expected = None if budget is None else _link(head, bytes(link["nonce"]), entry, budget, limits, fact)
        if expected != bytes(link["link"]):
            raise LedgerError(f"the ledger is damaged: {name}/{number} was changed; restore it from an export")
        head = bytes(link["link"])


def _paired(entries: list[Row], links: list[Row]) -> Iterator[tuple[Row | None, Row | None]]:
    for i in range(max(len(entries), len(links))):
        yield entries[i] if i < len(entries) else None, links[i] if i < len(links) else None


def _link(
    before: bytes,
    nonce: bytes,
    entry: Mapping[str, Any],
    budget: Mapping[str, Any],
    limits: PartLimits,
    fact: ReservedFact,
) -> bytes:
    what = [[entry[name] for name in _ENTRY], [budget[name] for name in _BUDGET]]
    own = [limits[part] for part in json.loads(entry["parts"]) if part in limits]
    more = [own, list(fact)] if fact else [own] if own else []
    return hashlib.sha256(before + nonce + json.dumps([*what, *more]).encode()).digest()


def limits_of(parts: Iterable[Row], limits: Iterable[Row]) -> PartLimits:
    """The budgets of the parts that have one of their own, by the part's name."""
    names = {part["number"]: part["name"] for part in parts}
    return {names[row["number"]]: [names[row["number"]], row["epsilon"], row["delta"]] for row in limits}


def _read(rows: SealedRows, table: Any) -> Iterable[Row]:  # noqa: ANN401
    """The rows without their seals, which whoever reads them for a charge checks."""
    return [dict(row) for row in rows.connection.execute(select(table).order_by(*table.primary_key)).mappings()]
