"""Charge, correct, rebuild, and change the budget: each inside one transaction that holds the data set's lock."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from tacit.privacy.composition import compose
from tacit.privacy.errors import BudgetExceeded, InvalidInput, LedgerError, UnitMismatch
from tacit.privacy.guarantee import AnyGuarantee, Guarantee, Unit
from tacit.privacy.ledger.account import PrivacyAccount
from tacit.privacy.ledger.book import DataSetAccounts, guarantee_of
from tacit.privacy.ledger.records import Receipt
from tacit.privacy.ledger.refusals import explain_refusal, spend_of, whose
from tacit.privacy.ledger.registry import add_budget, check_budget
from tacit.privacy.ledger.reservations import reserved_parts, use_reserved
from tacit.privacy.ledger.rows import Row
from tacit.privacy.ledger.schema import DELIVERY, USE, VERSION

__all__ = ["accounts_after", "charge", "in_unit_of", "pay", "rebuild", "reserve", "set_budget", "void"]


def charge(
    book: DataSetAccounts,
    guarantee: AnyGuarantee,
    *,
    parts: Sequence[str] | None,
    purpose: str,
    version: int | None,
    reserves: bool = False,
    reserved: int | None = None,
) -> Receipt:
    """Write a charge and its accounts, or that a reserved release is made; or raise and write nothing."""
    guarantee = _check(book, guarantee)
    if reserved is not None:
        return use_reserved(book, reserved, guarantee, parts=parts, purpose=purpose, version=version)
    accounts = book.accounts()
    after = {part: accounts[part].add(guarantee) for part in book.choose(parts)}
    worst = max(after, key=lambda part: after[part].used)
    if after[worst].used > 1:
        raise BudgetExceeded(explain_refusal(book, worst, accounts[worst], guarantee, after[worst]))
    text = json.dumps(guarantee.to_json())
    guarantee_of(text)  # what could not be read back must not be written
    entry, head = book.append(
        parts=after, purpose=purpose, version=book.version(version), guarantee=text, reserves=reserves
    )
    book.put(accounts | after)
    return Receipt(id=entry, account=after[worst], head=head)


def reserve(
    book: DataSetAccounts, guarantees: Sequence[AnyGuarantee], *, parts: Sequence[str] | None, purpose: str
) -> Receipt:
    """Write one charge for releases that are made later, or raise and write nothing."""
    whole = compose((_restated(book, one) for one in guarantees), delta=book.budget.delta)
    return charge(book, whole, parts=parts, purpose=purpose, version=None, reserves=True)


def accounts_after(
    book: DataSetAccounts, guarantees: Iterable[AnyGuarantee], *, parts: Sequence[str] | None, reserved: bool = False
) -> dict[str, PrivacyAccount]:
    """Return the accounts of the charged parts after these charges, or one that reserves them; none is made."""
    accounts = {part: book.account(part) for part in book.choose(parts)}
    charges = [_restated(book, guarantee) for guarantee in guarantees]
    for one in [compose(charges, delta=book.budget.delta)] if reserved else charges:
        accounts = {part: account.add(one) for part, account in accounts.items()}
    return accounts


def _restated(book: DataSetAccounts, guarantee: AnyGuarantee) -> Guarantee:
    return _check(book, in_unit_of(book, guarantee) if isinstance(guarantee, Guarantee) else guarantee)


def pay(
    book: DataSetAccounts,
    guarantee: Guarantee,
    *,
    parts: Sequence[str] | None,
    purpose: str,
    version: int | None,
    reserved: int | None = None,
) -> Receipt:
    """Write a charge in the data set's unit: a guarantee for one record covers its label."""
    if reserved is not None and parts is None:
        parts = reserved_parts(book, reserved)
    _check_covered(book, version, parts)
    own = in_unit_of(book, guarantee)
    return charge(book, own, parts=parts, purpose=purpose, version=version, reserved=reserved)


def in_unit_of(book: DataSetAccounts, guarantee: Guarantee) -> Guarantee:
    """Return the guarantee in the data set's unit, as it is charged."""
    covers = guarantee.unit is Unit.RECORD and book.budget.unit is Unit.LABEL
    return guarantee.for_unit(Unit.LABEL) if covers else guarantee


def void(book: DataSetAccounts, number: int, *, reason: str) -> Receipt:
    """Write a correction: the charge stays on record but no longer counts."""
    entries = {entry["number"]: entry for entry in book.entries()}
    target = _voidable(book, entries, number)
    parts = json.loads(target["parts"])
    entry, head = book.append(parts=parts, purpose=reason, version=target["version"], voids=number)
    accounts = rebuild(book)
    return Receipt(id=entry, account=max((accounts[part] for part in parts), key=lambda a: a.used), head=head)


def rebuild(book: DataSetAccounts) -> dict[str, PrivacyAccount]:
    """Compute the accounts from the entries and replace the stored ones."""
    accounts = book.recount()
    book.put(accounts)
    return accounts


def set_budget(book: DataSetAccounts, budget: Guarantee) -> None:
    """Write a new budget, unless it is below the spend."""
    _check_unit(book, check_budget(budget))
    accounts = book.recount(budget=budget)
    for part, account in accounts.items():
        if account.used > 1:
            raise BudgetExceeded(
                f"{whose(book, part)} {spend_of(account)}, so its budget cannot be lowered to {budget}; "
                "nothing was changed"
            )
    add_budget(book.rows, book.id, budget)
    book.put(accounts)


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
    _check_unreserved(book, number)
    if book.rows.find(DELIVERY, DELIVERY.c.data_set == book.id, DELIVERY.c.number == number):
        raise LedgerError(f"the release of {book.name}/{number} was delivered, so it stays spent")
    return target


def _check_unreserved(book: DataSetAccounts, number: int) -> None:
    """Raise if an entry is a release of a reservation, or a reservation that has one."""
    for use in book.rows.find(USE, USE.c.data_set == book.id):
        if number in (use["number"], use["reservation"]):
            raise LedgerError(
                f"{book.name}/{use['number']} is a release that {book.name}/{use['reservation']} reserved, and "
                "nothing comes back from a reservation"
            )
