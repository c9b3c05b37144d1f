"""Charge, correct, rebuild, and change the budget: each inside one transaction that holds the data set's lock."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import reduce

from tacit.privacy.errors import BudgetExceeded, InvalidInput, LedgerError, UnitMismatch
from tacit.privacy.guarantee import AnyGuarantee, Guarantee, Unit
from tacit.privacy.ledger.account import PrivacyAccount
from tacit.privacy.ledger.book import DataSetAccounts, guarantee_of
from tacit.privacy.ledger.records import Receipt, format_down
from tacit.privacy.ledger.registry import add_budget, check_budget
from tacit.privacy.ledger.rows import Row
from tacit.privacy.ledger.schema import DELIVERY, VERSION
from tacit.privacy.rounding import format_up

__all__ = ["charge", "forecast", "in_unit_of", "pay", "rebuild", "set_budget", "void"]


def charge(
    book: DataSetAccounts, guarantee: AnyGuarantee, *, parts: Sequence[str] | None, purpose: str, version: int | None
) -> Receipt:
    """Write a charge and its accounts, or raise and write nothing."""
    guarantee = _check(book, guarantee)
    before = {part: book.account(part) for part in book.choose(parts)}
    after = {part: account.add(guarantee) for part, account in before.items()}
    spent = {part: book.spent(account) for part, account in after.items()}
    worst = max(spent, key=lambda part: spent[part])
    if spent[worst] > book.budget.epsilon:
        had = book.spent(before[worst])
        raise BudgetExceeded(
            f"{_whose(book, worst)} has spent {_of_budget(book, had)} and {format_down(book.left(had))} is left; "
            f"a charge of {guarantee} would bring it to {format_up(spent[worst])}, so nothing was charged"
        )
    text = json.dumps(guarantee.to_json())
    guarantee_of(text)  # what could not be read back must not be written
    entry = book.append(parts=after, purpose=purpose, version=book.version(version), guarantee=text)
    for part, account in after.items():
        book.put(part, account)
    return Receipt(id=entry, spent=spent[worst], left=book.left(spent[worst]))


def pay(
    book: DataSetAccounts, guarantee: Guarantee, *, parts: Sequence[str] | None, purpose: str, version: int | None
) -> Receipt:
    """Write a charge in the data set's unit: a guarantee for one record covers its label."""
    _check_covered(book, version, parts)
    return charge(book, in_unit_of(book, guarantee), parts=parts, purpose=purpose, version=version)


def forecast(book: DataSetAccounts, guarantees: Sequence[Guarantee]) -> float:
    """Return what the worst part would have spent after these charges; nothing is written."""
    charged = [_check(book, in_unit_of(book, guarantee)) for guarantee in guarantees]
    accounts = (reduce(PrivacyAccount.add, charged, book.account(part)) for part in book.parts)
    return max(book.spent(account) for account in accounts)


def in_unit_of(book: DataSetAccounts, guarantee: Guarantee) -> Guarantee:
    """Return the guarantee in the data set's unit, as it is charged."""
    covers = guarantee.unit is Unit.RECORD and book.budget.unit is Unit.LABEL
    return guarantee.for_unit(Unit.LABEL) if covers else guarantee


def void(book: DataSetAccounts, number: int, *, reason: str) -> Receipt:
    """Write a correction: the charge stays on record but no longer counts."""
    entries = {entry["number"]: entry for entry in book.entries()}
    target = _voidable(book, entries, number)
    parts = json.loads(target["parts"])
    entry = book.append(parts=parts, purpose=reason, version=target["version"], voids=number)
    spent = max(book.spent(account) for account in rebuild(book, parts=parts).values())
    return Receipt(id=entry, spent=spent, left=book.left(spent))


def rebuild(book: DataSetAccounts, *, parts: Sequence[str] | None = None) -> dict[str, PrivacyAccount]:
    """Compute the accounts from the entries and replace the stored ones."""
    accounts = {part: book.recount(part) for part in book.choose(parts)}
    for part, account in accounts.items():
        book.put(part, account)
    return accounts


def set_budget(book: DataSetAccounts, budget: Guarantee) -> None:
    """Write a new budget, unless it is below the spend."""
    _check_unit(book, check_budget(budget))
    for part in book.parts:
        account = book.account(part)
        if bool(budget.delta) != bool(book.budget.delta):  # without a delta no distribution is kept
            account = book.recount(part, delta=budget.delta)
            book.put(part, account)
        spent = account.spent(delta=budget.delta)
        if spent > budget.epsilon:
            raise BudgetExceeded(
                f"{_whose(book, part)} has spent epsilon {format_up(spent)} at delta {format_up(budget.delta)}, "
                f"so its budget cannot be lowered to {format_up(budget.epsilon)}; nothing was changed"
            )
    add_budget(book.rows, book.id, budget)


def _check(book: DataSetAccounts, guarantee: AnyGuarantee) -> Guarantee:
    if not isinstance(guarantee, Guarantee):
        raise InvalidInput(f"must be a Guarantee to be charged, got {guarantee}", field="guarantee")
    _check_unit(book, guarantee)
    if guarantee.delta > 0 and book.budget.delta == 0:
        raise InvalidInput(
            f"must have delta 0, as the budget of {book.name} has, got delta {guarantee.delta!r}; "
            "give the budget a delta first",
            field="guarantee",
        )
    return guarantee


def _check_unit(book: DataSetAccounts, guarantee: Guarantee) -> None:
    kept = book.budget
    if guarantee.unit != kept.unit:
        raise UnitMismatch(
            f"{book.name} is kept for one {kept.unit}, but the guarantee is for one {guarantee.unit}; "
            f"set unit to {kept.unit}, or register the data for one {guarantee.unit}"
        )
    if guarantee.rows != kept.rows:
        raise UnitMismatch(
            f"{book.name} is kept for persons of {kept.rows} rows, but the guarantee is for {guarantee.rows}; "
            f"set rows_per_person to {kept.rows}"
        )


def _check_covered(book: DataSetAccounts, version: int | None, parts: Sequence[str] | None) -> None:
    """Raise if rows of a recognized version lie outside the parts that are charged."""
    if version is None or parts is None:
        return
    named = [book.parts[part] for part in book.choose(parts)]
    if len(named) == len(book.parts):
        return
    (known,) = book.rows.find(VERSION, VERSION.c.data_set == book.id, VERSION.c.number == version)
    covered = sum(row["stop"] - row["start"] for row in named if row["start"] is not None)
    if covered < known["rows"]:
        raise InvalidInput(
            f"must contain all {known['rows']} rows of the labels of {book.name}, got {', '.join(parts)} "
            f"with {covered} declared: make the release only from the rows of its parts, or charge all parts",
            field="parts",
        )


def _voidable(book: DataSetAccounts, entries: Mapping[int, Row], number: int) -> Row:
    target = entries.get(number)
    if target is None:
        raise LedgerError(f"the ledger has no charge {book.name}/{number}")
    if target["guarantee"] is None:
        raise LedgerError(f"{book.name}/{number} is a correction, not a charge, and cannot be voided")
    for entry in entries.values():
        if entry["voids"] == number:
            raise LedgerError(f"{book.name}/{number} was voided already, by {book.name}/{entry['number']}")
    if book.rows.find(DELIVERY, DELIVERY.c.data_set == book.id, DELIVERY.c.number == number):
        raise LedgerError(f"the release of {book.name}/{number} was delivered, so it stays spent")
    return target


def _whose(book: DataSetAccounts, part: str) -> str:
    return book.name if len(book.parts) == 1 else f"part {part} of {book.name}"


def _of_budget(book: DataSetAccounts, spent: float) -> str:
    delta = f" at delta {format_up(book.budget.delta)}" if book.budget.delta else ""
    return f"epsilon {format_up(spent)} of {format_up(book.budget.epsilon)}{delta}"
