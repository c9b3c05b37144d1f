"""Charge, correct, rebuild, and change the budget: each inside one transaction that holds the data set's lock."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from tacit.privacy.errors import BudgetExceeded, InvalidInput, LedgerError, UnitMismatch
from tacit.privacy.guarantee import Guarantee, Promise
from tacit.privacy.ledger.account import Account
from tacit.privacy.ledger.book import Book
from tacit.privacy.ledger.records import Receipt, format_down
from tacit.privacy.ledger.registry import add_budget
from tacit.privacy.ledger.rows import Row
from tacit.privacy.rounding import exact, format_up, round_up

__all__ = ["charge", "left_of", "rebuild", "set_budget", "void"]


def charge(book: Book, promise: Promise, *, parts: Sequence[str] | None, purpose: str, version: int | None) -> Receipt:
    """Write a charge and its accounts, or raise and write nothing."""
    guarantee = _check(book, promise)
    before = {part: book.account(part) for part in book.choose(parts)}
    after = {part: account.add(guarantee) for part, account in before.items()}
    spent = {part: account.spent(delta=book.delta) for part, account in after.items()}
    worst = max(spent, key=lambda part: spent[part])
    if spent[worst] > book.epsilon:
        had = before[worst].spent(delta=book.delta)
        raise BudgetExceeded(
            f"{_whose(book, worst)} has spent {_of_budget(book, had)} and {format_down(left_of(book, had))} is left; "
            f"a charge of {guarantee} would bring it to {format_up(spent[worst])}, so nothing was charged"
        )
    text = json.dumps(guarantee.to_json())
    number = book.version(version)
    entry = book.append(parts=after, purpose=purpose, version=number, guarantee=text)
    for part, account in after.items():
        book.put(part, account)
    return Receipt(id=entry, spent=spent[worst], left=left_of(book, spent[worst]))


def void(book: Book, number: int, *, reason: str) -> Receipt:
    """Write a correction: the charge stays on record but counts no more."""
    entries = {entry["number"]: entry for entry in book.entries()}
    target = _voidable(book, entries, number)
    parts = json.loads(target["parts"])
    entry = book.append(parts=parts, purpose=reason, version=target["version"], voids=number)
    spent = max(account.spent(delta=book.delta) for account in rebuild(book, parts=parts).values())
    return Receipt(id=entry, spent=spent, left=left_of(book, spent))


def rebuild(book: Book, *, parts: Sequence[str] | None = None) -> dict[str, Account]:
    """Work out the accounts from the entries and write them over what was stored."""
    accounts = {part: book.recount(part, delta=book.delta) for part in book.choose(parts)}
    for part, account in accounts.items():
        book.put(part, account)
    return accounts


def set_budget(book: Book, *, epsilon: float, delta: float) -> None:
    """Write a new budget, unless more than that is spent."""
    for part in book.parts:
        # without a delta no distribution was kept; it is worked out from the entries
        account = book.recount(part, delta=delta) if bool(delta) != bool(book.delta) else book.account(part)
        spent = account.spent(delta=delta)
        if spent > epsilon:
            raise BudgetExceeded(
                f"{_whose(book, part)} has spent epsilon {format_up(spent)} at delta {format_up(delta)}, "
                f"so its budget cannot be lowered to {format_up(epsilon)}; nothing was changed"
            )
        book.put(part, account)
    add_budget(book.rows, book.id, epsilon=epsilon, delta=delta)


def left_of(book: Book, spent: float) -> float:
    """Return what is left of the budget's epsilon, rounded down and never below 0."""
    return 0.0 if spent >= book.epsilon else -round_up(exact(spent) - exact(book.epsilon))


def _check(book: Book, promise: Promise) -> Guarantee:
    if not isinstance(promise, Guarantee):
        raise InvalidInput(f"guarantee must be a Guarantee to be charged, got {promise}")
    if promise.unit != book.unit:
        raise UnitMismatch(
            f"{book.name} is kept for one {book.unit}, but the guarantee is for one {promise.unit}; "
            f"restate it with for_unit(Unit.{book.unit.name}), or register the data for one {promise.unit}"
        )
    if promise.rows != book.group:
        raise UnitMismatch(
            f"{book.name} is kept for persons of {book.group} rows, but the guarantee is for {promise.rows}; "
            f"restate the guarantee for one row with for_group(rows={book.group})"
        )
    if promise.delta > 0 and book.delta == 0:
        raise InvalidInput(
            f"guarantee must have delta 0, as the budget of {book.name} has, got delta {promise.delta!r}; "
            "give the budget a delta first"
        )
    return promise


def _voidable(book: Book, entries: Mapping[int, Row], number: int) -> Row:
    target = entries.get(number)
    if target is None:
        raise LedgerError(f"the ledger has no charge {book.name}/{number}")
    if target["guarantee"] is None:
        raise LedgerError(f"{book.name}/{number} is a correction, not a charge, and cannot be voided")
    for entry in entries.values():
        if entry["voids"] == number:
            raise LedgerError(f"{book.name}/{number} was voided already, by {book.name}/{entry['number']}")
    return target


def _whose(book: Book, part: str) -> str:
    return book.name if len(book.parts) == 1 else f"part {part} of {book.name}"


def _of_budget(book: Book, spent: float) -> str:
    delta = f" at delta {format_up(book.delta)}" if book.delta else ""
    return f"epsilon {format_up(spent)} of {format_up(book.epsilon)}{delta}"
