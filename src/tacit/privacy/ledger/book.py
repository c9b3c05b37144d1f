"""One data set inside a transaction: its terms, its parts' accounts, its entries."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache

from tacit.privacy.errors import InvalidInput, LedgerError
from tacit.privacy.guarantee import Guarantee, Unit, guarantee_from_json
from tacit.privacy.ledger.account import PrivacyAccount
from tacit.privacy.ledger.chain import RESERVES, ReservedFact, add_link, limits_of, use_fact
from tacit.privacy.ledger.records import DataSetStatement, DataSetVersion, LedgerEntry, PartSpend
from tacit.privacy.ledger.rows import Row, SealedRows
from tacit.privacy.ledger.schema import (
    ACCOUNT,
    BUDGET,
    DATA_SET,
    ENTRY,
    LIMIT,
    LINK,
    PART,
    RESERVATION,
    USE,
    VERSION,
)
from tacit.privacy.loss import ComposedLoss

__all__ = ["DataSetAccounts", "account_row", "count_places", "guarantee_of", "now", "places_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSetAccounts:
    """A data set's current terms, and access to its accounts and entries."""

    rows: SealedRows
    id: int
    name: str
    budget: Guarantee
    parts: Mapping[str, Row]
    limits: Mapping[int, Row]

    @classmethod
    def find(cls, rows: SealedRows, name: str, *, lock: bool = False) -> DataSetAccounts:
        """Read a data set; with ``lock`` no other transaction can charge it until this one ends."""
        found = rows.find(DATA_SET, DATA_SET.c.name == name, lock=lock)
        if not found:
            known = ", ".join(row["name"] for row in rows.find(DATA_SET)) or "none yet"
            raise LedgerError(f"the ledger knows no data set {name!r}; it knows: {known}")
        terms = found[0]
        budget = rows.last(BUDGET, BUDGET.c.data_set == terms["id"])
        parts = rows.find(PART, PART.c.data_set == terms["id"])
        if budget is None or not parts:
            raise LedgerError(f"the ledger is damaged: {name} has lost its budget or its parts; restore an export")
        return cls(
            rows=rows,
            id=terms["id"],
            name=name,
            budget=Guarantee(
                unit=Unit(terms["unit"]),
                rows=terms["rows"],
                epsilon=float(budget["epsilon"]),
                delta=float(budget["delta"]),
            ),
            parts={part["name"]: part for part in parts},
            limits={row["number"]: row for row in rows.find(LIMIT, LIMIT.c.data_set == terms["id"])},
        )

    def budget_of(self, part: str, *, budget: Guarantee | None = None) -> Guarantee:
        """Return a part's budget: its own, as far as that of the data set, or another one for it, allows."""
        whole, limit = budget or self.budget, self.limits.get(self.parts[part]["number"])
        if limit is None:
            return whole
        return replace(
            whole,
            epsilon=min(whole.epsilon, float(limit["epsilon"])),
            delta=min(whole.delta, float(limit["delta"])),
        )

    def choose(self, parts: Sequence[str] | None) -> tuple[str, ...]:
        """Return the named parts, or all of them; unknown and repeated names are rejected."""
        if parts is None:
            return tuple(self.parts)
        if not isinstance(parts, Collection) or isinstance(parts, str) or not parts or len(set(parts)) < len(parts):
            raise InvalidInput(f"must be a list of different names, got {parts!r}", field="parts")
        unknown = [part for part in parts if part not in self.parts]
        if unknown:
            known = ", ".join(self.parts)
            raise InvalidInput(
                f"must be declared parts of {self.name} ({known}), got {', '.join(unknown)}", field="parts"
            )
        return tuple(parts)

    def account(self, part: str) -> PrivacyAccount:
        """Read what a part has spent."""
        return self._account(part, self.newest)

    def _account(self, part: str, newest: int) -> PrivacyAccount:
        """The same, or an error if the account is that of an older state than the entries."""
        mine = (ACCOUNT.c.data_set == self.id, ACCOUNT.c.part == self.parts[part]["number"])
        found = self.rows.find(ACCOUNT, *mine)
        if not found:
            raise LedgerError(f"the ledger is damaged: {part} of {self.name} has lost its account; restore an export")
        if found[0]["last"] != newest:
            raise LedgerError(
                f"the ledger is damaged: the account of {part} of {self.name} is that of another entry than the last; "
                "restore an export"
            )
        return PrivacyAccount(budget=self.budget_of(part)).with_sums(found[0]["sums"])

    @property
    def newest(self) -> int:
        """The number of the last entry, 0 before the first."""
        last = self.rows.last(ENTRY, ENTRY.c.data_set == self.id)
        return 0 if last is None else int(last["number"])

    def put(self, accounts: Mapping[str, PrivacyAccount]) -> None:
        """Write the spend of all parts, up to the last entry."""
        newest = self.newest
        for part, account in accounts.items():
            self.rows.change(ACCOUNT, **account_row(self.id, self.parts[part]["number"], account, last=newest))

    def accounts(self) -> dict[str, PrivacyAccount]:
        """Read what every part has spent."""
        newest = self.newest
        return {part: self._account(part, newest) for part in self.parts}

    def entries(self) -> list[Row]:
        """Read all entries, oldest first."""
        return self.rows.find(ENTRY, ENTRY.c.data_set == self.id)

    def append(
        self,
        *,
        parts: Iterable[str],
        purpose: str,
        version: int,
        guarantee: str | None = None,
        voids: int | None = None,
        reserves: bool = False,
        use: Row | None = None,
    ) -> tuple[str, str]:
        """Write the next entry; return its id and the head of the chain."""
        entry = {
            "number": self.newest + 1,
            "time": now(),
            "version": int(version),
            "parts": json.dumps([str(part) for part in parts]),
            "guarantee": guarantee,
            "purpose": str(purpose),
            "voids": voids,
        }
        self.rows.add(ENTRY, data_set=self.id, **entry)
        fact: ReservedFact = None
        if reserves:
            self.rows.add(RESERVATION, data_set=self.id, number=entry["number"])
            fact = RESERVES
        elif use is not None:
            self.rows.add(USE, data_set=self.id, number=entry["number"], **use)
            fact = use_fact(use)
        limits = limits_of(self.parts.values(), self.limits.values())
        return f"{self.name}/{entry['number']}", add_link(self.rows, self.id, entry, limits=limits, fact=fact).hex()

    def version(self, number: int | None) -> int:
        """Return a version's number if it exists; None: the newest."""
        newest = self.rows.last(VERSION, VERSION.c.data_set == self.id)
        last: int = newest["number"] if newest else 0
        if number is not None and not 1 <= number <= last:
            raise InvalidInput(f"version must be one of {self.name}'s {last} versions, got {number!r}")
        return last if number is None else number

    def statement(self) -> DataSetStatement:
        """Return the data set's terms, spend, versions and entries."""
        link = self.rows.last(LINK, LINK.c.data_set == self.id)
        versions = self.rows.find(VERSION, VERSION.c.data_set == self.id)
        return DataSetStatement(
            name=self.name,
            budget=self.budget,
            head="" if link is None else bytes(link["link"]).hex(),
            parts=tuple(self._part(name, account) for name, account in self.accounts().items()),
            versions=tuple(
                DataSetVersion(data_set=self.name, number=row["number"], rows=row["rows"], time=row["time"])
                for row in versions
            ),
            entries=self._entries(),
        )

    def _entries(self) -> tuple[LedgerEntry, ...]:
        rows = self.entries()
        uses = {row["number"]: row["reservation"] for row in self.rows.find(USE, USE.c.data_set == self.id)}
        reserving = {row["number"] for row in self.rows.find(RESERVATION, RESERVATION.c.data_set == self.id)}
        voided_by = {row["voids"]: row["number"] for row in rows if row["voids"] is not None}
        return tuple(
            LedgerEntry(
                id=f"{self.name}/{row['number']}",
                time=row["time"],
                version=row["version"],
                parts=tuple(json.loads(row["parts"])),
                guarantee=None if row["guarantee"] is None else guarantee_of(row["guarantee"]),
                purpose=row["purpose"],
                voids=self._entry_id(row["voids"]),
                voided_by=self._entry_id(voided_by.get(row["number"])),
                reserves=count_places(row["guarantee"]) if row["number"] in reserving else 0,
                reserved_by=self._entry_id(uses.get(row["number"])),
            )
            for row in rows
        )

    def _entry_id(self, number: int | None) -> str | None:
        return None if number is None else f"{self.name}/{number}"

    def _part(self, name: str, account: PrivacyAccount) -> PartSpend:
        row = self.parts[name]
        lines = None if row["start"] is None else range(row["start"], row["stop"])
        return PartSpend.of(name, account, rows=lines)

    def recount(self, *, budget: Guarantee | None = None) -> dict[str, PrivacyAccount]:
        """Compute the accounts of all parts from the entries, for the budget or another one."""
        entries = self.entries()
        voided = {entry["voids"] for entry in entries}
        charges = [(json.loads(e["parts"]), e["guarantee"], e["number"] in voided) for e in entries if e["guarantee"]]
        return {
            part: _account(
                [(text, void) for parts, text, void in charges if part in parts], self.budget_of(part, budget=budget)
            )
            for part in self.parts
        }


def _account(charges: Sequence[tuple[str, bool]], budget: Guarantee) -> PrivacyAccount:
    """The account of these charges, each with whether it was voided."""
    standing = [guarantee_of(text) for text, void in charges if not void]
    first = guarantee_of(charges[0][0]) if charges else None
    return PrivacyAccount.of(standing, budget=budget, first=first)


def account_row(data_set: int, part: int, account: PrivacyAccount, *, last: int) -> dict[str, object]:
    """Return an account as the columns of its table."""
    return {"data_set": data_set, "part": part, "last": last, "sums": account.to_text()}


@lru_cache(maxsize=1024)
def guarantee_of(text: str) -> Guarantee:
    """Read a guarantee from an entry; equal ones are read once."""
    guarantee = guarantee_from_json(json.loads(text))
    if not isinstance(guarantee, Guarantee):
        raise LedgerError("the ledger is damaged: an entry has no guarantee; restore it from an export")
    return guarantee


def places_of(text: str) -> ComposedLoss:
    """Return the losses of a reservation's releases: place i has part i modulo their number."""
    loss = guarantee_of(text).privacy_loss
    return loss if isinstance(loss, ComposedLoss) else ComposedLoss(parts=(loss,))


def count_places(text: str) -> int:
    """Return how many releases a reservation's guarantee is for."""
    whole = places_of(text)
    return len(whole.parts) * whole.times


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
