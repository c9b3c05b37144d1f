"""Why a charge was refused: what is used and by which entries, what is left, and what would fit."""

from __future__ import annotations

import json

from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger.account import PrivacyAccount
from tacit.privacy.ledger.book import DataSetAccounts, guarantee_of
from tacit.privacy.ledger.records import format_down, format_share
from tacit.privacy.ledger.rows import Row
from tacit.privacy.rounding import format_up

__all__ = ["explain_refusal", "spend_of", "whose"]

_SHOWN = 3


def explain_refusal(
    book: DataSetAccounts, part: str, account: PrivacyAccount, guarantee: Guarantee, after: PrivacyAccount
) -> str:
    """Return the sentence of a refusal."""
    left = format_down(account.left)
    if after.spent is not None:
        asked = f"{left} is left; a charge of {guarantee} would bring it to {format_up(after.spent)}"
        spent = f"{spend_of(account)} of {format_up(account.budget.epsilon)}"
    else:
        asked = f"a charge of {guarantee} does not fit, epsilon {left} does"
        spent = f"{spend_of(account)} of {account.budget}"
    users = _users(book, part)
    used_by = f"; it was used by {users}" if users else ""
    return f"{whose(book, part)} {spent} and {asked}{used_by}, so nothing was charged"


def spend_of(account: PrivacyAccount) -> str:
    """Return what an account has spent, as the end of a sentence about a data set."""
    if account.spent is None:
        return f"has used {format_share(account.used)}"
    delta = 0 if account.spend is None else account.spend.delta
    return f"has spent epsilon {format_up(account.spent)}{f' and delta {format_up(float(delta))}' if delta else ''}"


def whose(book: DataSetAccounts, part: str) -> str:
    """Return the name of a data set, with the part if there are several."""
    return book.name if len(book.parts) == 1 else f"part {part} of {book.name}"


def _users(book: DataSetAccounts, part: str) -> str:
    """The entries that cost most, with day and purpose; empty if there is none."""
    rows = book.entries()
    voided = {row["voids"] for row in rows}
    mine = [
        row for row in rows if row["guarantee"] and row["number"] not in voided and part in json.loads(row["parts"])
    ]
    mine.sort(key=lambda row: -guarantee_of(row["guarantee"]).epsilon)
    shown = [_entry(book.name, row) for row in mine[:_SHOWN]]
    more = [f"{len(mine) - _SHOWN} more"] if len(mine) > _SHOWN else []
    return " and ".join([", ".join(shown), *more]) if shown else ""


def _entry(name: str, row: Row) -> str:
    cost = guarantee_of(row["guarantee"])
    delta = f", delta {format_up(cost.delta)}" if cost.delta else ""
    return f"{name}/{row['number']} (epsilon {format_up(cost.epsilon)}{delta}, {row['time'][:10]}, {row['purpose']})"
