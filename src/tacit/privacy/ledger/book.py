"""One data set inside a transaction: its terms, its parts' accounts, its entries."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache

from tacit.privacy.distribution import LossDistribution
from tacit.privacy.errors import InvalidInput, LedgerError
from tacit.privacy.guarantee import Guarantee, Unit, guarantee_from_json
from tacit.privacy.ledger.account import PrivacyAccount
from tacit.privacy.ledger.records import DataSetStatement, DataSetVersion, LedgerEntry, PartSpend
from tacit.privacy.ledger.rows import Row, SealedRows
from tacit.privacy.ledger.schema import ACCOUNT, BUDGET, DATA_SET, ENTRY, PART, VERSION
from tacit.privacy.loss.base import Stated
from tacit.privacy.rounding import exact, round_up

__all__ = ["DataSetAccounts", "account_row", "guarantee_of", "now"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSetAccounts:
    """A data set's current terms, and access to its accounts and entries."""

    rows: SealedRows
    id: int
    name: str
    budget: Guarantee
    parts: Mapping[str, Row]

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
        mine = (ACCOUNT.c.data_set == self.id, ACCOUNT.c.part == self.parts[part]["number"])
        found = self.rows.find(ACCOUNT, *mine)
        if not found:
            raise LedgerError(f"the ledger is damaged: {part} of {self.name} has lost its account; restore an export")
        row = found[0]
        kept = row["masses"] is not None
        return PrivacyAccount(
            stated=_read_stated(row["pure"]),
            distribution=LossDistribution.from_bytes(row["lower"], row["masses"], row["infinity"]) if kept else None,
        )

    def spent(self, account: PrivacyAccount) -> float:
        """Return an account's epsilon at the budget's delta."""
        return account.spent(delta=self.budget.delta)

    def left(self, spent: float) -> float:
        """Return what is left of the budget's epsilon, rounded down and never below 0."""
        return 0.0 if spent >= self.budget.epsilon else -round_up(exact(spent) - exact(self.budget.epsilon))

    def put(self, part: str, account: PrivacyAccount) -> None:
        """Write what a part has spent."""
        self.rows.change(ACCOUNT, **account_row(self.id, self.parts[part]["number"], account))

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
    ) -> str:
        """Write the next entry and return its id."""
        last = self.rows.last(ENTRY, ENTRY.c.data_set == self.id)
        number = 1 if last is None else last["number"] + 1
        self.rows.add(
            ENTRY,
            data_set=self.id,
            number=number,
            time=now(),
            version=version,
            parts=json.dumps(list(parts)),
            guarantee=guarantee,
            purpose=purpose,
            voids=voids,
        )
        return f"{self.name}/{number}"

    def version(self, number: int | None) -> int:
        """Return a version's number if it exists; None: the newest."""
        newest = self.rows.last(VERSION, VERSION.c.data_set == self.id)
        last: int = newest["number"] if newest else 0
        if number is not None and not 1 <= number <= last:
            raise InvalidInput(f"version must be one of {self.name}'s {last} versions, got {number!r}")
        return last if number is None else number

    def statement(self) -> DataSetStatement:
        """Return the data set's terms, spend, versions and entries."""
        parts = tuple(self._part(name) for name in self.parts)
        spent = max(part.spent for part in parts)
        versions = self.rows.find(VERSION, VERSION.c.data_set == self.id)
        return DataSetStatement(
            name=self.name,
            budget=self.budget,
            spent=spent,
            left=self.left(spent),
            parts=parts,
            versions=tuple(
                DataSetVersion(data_set=self.name, number=row["number"], rows=row["rows"], time=row["time"])
                for row in versions
            ),
            entries=_entries(self.name, self.entries()),
        )

    def _part(self, name: str) -> PartSpend:
        row = self.parts[name]
        spent = self.spent(self.account(name))
        lines = None if row["start"] is None else range(row["start"], row["stop"])
        return PartSpend(name=name, rows=lines, spent=spent, left=self.left(spent))

    def recount(self, part: str, *, delta: float | None = None) -> PrivacyAccount:
        """Compute a part's account from the entries that were not voided, at the budget's delta or another."""
        entries = self.entries()
        voided = {entry["voids"] for entry in entries}
        standing = (e for e in entries if e["guarantee"] is not None and e["number"] not in voided)
        return PrivacyAccount.of(
            (guarantee_of(entry["guarantee"]) for entry in standing if part in json.loads(entry["parts"])),
            delta=self.budget.delta if delta is None else delta,
        )


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


def account_row(data_set: int, part: int, account: PrivacyAccount) -> dict[str, object]:
    """Return an account as the columns of its table: numbers, a decimal fraction and an array's bytes."""
    kept = account.distribution
    return {
        "data_set": data_set,
        "part": part,
        "pure": _write_stated(account.stated),
        "lower": None if kept is None else int(kept.lower),
        "masses": None if kept is None else kept.to_bytes(),
        "infinity": None if kept is None else float(kept.infinity),
    }


def _write_stated(stated: Stated) -> str | None:
    """An epsilon, and its delta if there is one."""
    if stated is None:
        return None
    epsilon, delta = stated
    return f"{epsilon} {delta}" if delta else str(epsilon)


def _read_stated(text: str | None) -> Stated:
    if text is None:
        return None
    epsilon, _, delta = text.partition(" ")
    return Fraction(epsilon), Fraction(delta or 0)


@lru_cache(maxsize=1024)
def guarantee_of(text: str) -> Guarantee:
    """Read a guarantee from an entry; equal ones are read once."""
    guarantee = guarantee_from_json(json.loads(text))
    if not isinstance(guarantee, Guarantee):
        raise LedgerError("the ledger is damaged: an entry has no guarantee; restore it from an export")
    return guarantee


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
