"""Reserved releases: charged whole before they are made, each made at most once, and nothing comes back."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tacit.privacy.errors import BudgetExceeded, InvalidInput, LedgerError
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger.book import guarantee_of, places_of
from tacit.privacy.ledger.records import Receipt, split_id
from tacit.privacy.ledger.schema import ENTRY, RESERVATION, USE
from tacit.privacy.loss import ComposedLoss, PrivacyLoss
from tacit.privacy.loss.domination import dominates
from tacit.privacy.rounding import format_up

if TYPE_CHECKING:
    from tacit.privacy.ledger.book import DataSetAccounts
    from tacit.privacy.ledger.rows import Row

__all__ = ["reserved_entry", "reserved_parts", "use_reserved"]


def reserved_entry(entry: str, *, name: str) -> int:
    """Return the number of a reservation of this data set, by its id."""
    of, number = split_id(entry)
    if of != name:
        raise InvalidInput(f"must be a charge of {name}, got {entry}", field="reserved")
    return number


def reserved_parts(book: DataSetAccounts, number: int) -> list[str]:
    """Return the parts that a reservation was charged to."""
    return [str(part) for part in json.loads(_reservation(book, number)["parts"])]


def use_reserved(
    book: DataSetAccounts,
    number: int,
    guarantee: Guarantee,
    *,
    parts: Sequence[str] | None,
    purpose: str,
    version: int | None,
) -> Receipt:
    """Write that a release takes a reserved place whose loss dominates its own, or raise and write nothing."""
    entry, reserved = _reservation(book, number), reserved_parts(book, number)
    outside = [part for part in parts or () if part not in reserved]
    if outside:
        raise InvalidInput(f"must be parts of {book.name}/{number}, got {', '.join(outside)}", field="parts")
    place = _place(book, number, guarantee, places_of(entry["guarantee"]))
    text = json.dumps(guarantee.to_json())
    guarantee_of(text)  # what could not be read back must not be written
    accounts = book.accounts()
    own, head = book.append(
        parts=(),
        purpose=purpose,
        version=book.version(version),
        guarantee=text,
        use={"reservation": number, "place": place},
    )
    book.put(accounts)
    return Receipt(id=own, account=max((accounts[part] for part in reserved), key=lambda a: a.used), head=head)


def _reservation(book: DataSetAccounts, number: int) -> Row:
    name = f"{book.name}/{number}"
    if not book.rows.find(RESERVATION, RESERVATION.c.data_set == book.id, RESERVATION.c.number == number):
        raise LedgerError(f"{name} reserves no releases; tacit ledger show lists those that do")
    if book.rows.find(ENTRY, ENTRY.c.data_set == book.id, ENTRY.c.voids == number):
        raise LedgerError(f"{name} was voided, so no release of it may be made")
    return book.rows.find(ENTRY, ENTRY.c.data_set == book.id, ENTRY.c.number == number)[0]


def _place(book: DataSetAccounts, number: int, guarantee: Guarantee, whole: ComposedLoss) -> int:
    """The first free place of the same loss, or of the least that dominates it."""
    uses = book.rows.find(USE, USE.c.data_set == book.id, USE.c.reservation == number)
    taken, parts, loss = {row["place"] for row in uses}, whole.parts, guarantee.privacy_loss
    free: Counter[PrivacyLoss] = Counter()
    first: dict[PrivacyLoss, int] = {}
    for start, part in enumerate(parts):
        left = whole.times - sum(place % len(parts) == start for place in taken)
        if left > 0:
            free[part] += left
            places = range(start, whole.times * len(parts), len(parts))
            first.setdefault(part, next(place for place in places if place not in taken))
    fitting = [part for part in free if dominates(part, loss)]
    if not fitting:
        shown = ", ".join(f"{count:,} of {_cost(part, book)}" for part, count in free.items())
        raise BudgetExceeded(
            f"{book.name}/{number} has no release left that is known to cover {guarantee}; left are "
            f"{shown or 'none'}, so nothing was recorded"
        )
    return first[loss if loss in fitting else min(fitting, key=lambda one: one.epsilon_at(book.budget.delta))]


def _cost(loss: PrivacyLoss, book: DataSetAccounts) -> str:
    pure = loss.pure_epsilon
    return f"epsilon {format_up(pure if math.isfinite(pure) else loss.epsilon_at(book.budget.delta))}"
