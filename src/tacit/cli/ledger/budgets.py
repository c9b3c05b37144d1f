"""``tacit ledger budget`` and ``fits``: what a data set may spend, and what still fits."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from tacit.cli.ledger.options import HERE, Where, guarantee_of, summary, without_entries
from tacit.cli.options import AsJson, open_ledger, print_json

__all__ = ["budget", "fits"]

MOST_CHARGES = 100_000


def budget(
    name: Annotated[str, typer.Argument(help="The data set.")],
    epsilon: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="The epsilon of the new budget; not below the spend."),
    ] = None,
    delta: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="The delta of the guarantee. Default: unchanged.")
    ] = None,
    ledger: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Show a data set's budget, or change it.

    Example: tacit ledger budget adult --epsilon 4
    """
    book = open_ledger(ledger)
    statement = book.statement(name)
    if epsilon is not None or delta is not None:
        now = statement.budget
        new = guarantee_of(
            now.unit, now.epsilon if epsilon is None else epsilon, now.delta if delta is None else delta, now.rows
        )
        statement = book.set_budget(name, replace(now, epsilon=new.epsilon, delta=new.delta))
    if as_json:
        print_json(without_entries(statement))
    else:
        typer.echo(summary(statement))


def fits(
    name: Annotated[str, typer.Argument(help="The data set.")],
    epsilon: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="The epsilon of each charge to ask about. Default: the largest that fits."),
    ] = None,
    charges: Annotated[str, typer.Option(metavar="INTEGER", help="How many equal charges are meant.")] = "1",
    part: Annotated[
        list[str] | None, typer.Option(help="A part that the charges are for; repeatable. Default: all parts.")
    ] = None,
    ledger: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Say what still fits a budget, and charge nothing.

    Charges that would overspend are said to, and the command exits with 0.

    Example: tacit ledger fits adult

    Example: tacit ledger fits adult --epsilon 0.1 --charges 20
    """
    from tacit.privacy.errors import InvalidInput
    from tacit.privacy.ledger.records import format_down, format_share

    if not charges.isdecimal() or not 0 < int(charges) <= MOST_CHARGES:
        raise InvalidInput(f"must be an integer from 1 to {MOST_CHARGES:,}, got {charges!r}", field="charges")
    book, count, each = open_ledger(ledger), int(charges), "" if charges == "1" else " each"
    largest = book.fitting(name, charges=count, parts=part or None)
    if epsilon is None:
        found: dict[str, Any] = {"charges": count, "epsilon": largest}
        line = f"{name}: {_charges(count)} of epsilon {format_down(largest)}{each} fit{'s' if count == 1 else ''}."
    else:
        budget = book.statement(name).budget
        one = guarantee_of(budget.unit, epsilon, 0, budget.rows)
        share = book.share_after(name, *[one] * count, parts=part or None)
        found = {"charges": count, "epsilon": one.epsilon, "used": share if share <= 1 else None, "largest": largest}
        after = f"would bring it to {format_share(share)}" if share <= 1 else "would exceed the budget"
        line = f"{name}: {_charges(count)} of epsilon {one.epsilon:g}{each} {after}; {format_down(largest)}{each} fits."
    if as_json:
        print_json({"name": name, **found})
    else:
        typer.echo(line)


def _charges(count: int) -> str:
    return "a charge" if count == 1 else f"{count:,} charges"
