"""``tacit ledger budget`` and ``fits``: what a data set may spend, and what still fits."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from tacit.cli.ledger.options import HERE, Charges, Where, count_of, guarantee_of, summary, without_entries
from tacit.cli.options import AsJson, open_ledger, print_json

__all__ = ["budget", "fits"]


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
    charges: Charges = "1",
    part: Annotated[
        list[str] | None, typer.Option(help="A part that the charges are for; repeatable. Default: all parts.")
    ] = None,
    ledger: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Show which charges still fit a budget, and charge nothing.

    If the charges would overspend, this is printed, and the command still exits with 0. Charges that are reserved
    together may cost less than one by one (tacit ledger reserve).

    Example: tacit ledger fits adult

    Example: tacit ledger fits adult --epsilon 0.1 --charges 20
    """
    from tacit.privacy.ledger.records import format_down

    book, count, each, parts = open_ledger(ledger), count_of(charges), "" if charges == "1" else " each", part or None
    largest, reserved = (book.fitting(name, charges=count, parts=parts, reserved=one) for one in (False, True))
    if epsilon is None:
        found: dict[str, Any] = {"charges": count, "epsilon": largest, "epsilon_reserved": reserved}
        line = f"{name}: {_charges(count)} of epsilon {format_down(largest)}{each} fit{'s' if count == 1 else ''}."
        if reserved > largest:
            line += f" Reserved together, {format_down(reserved)} each fits."
    else:
        budget = book.statement(name).budget
        one = guarantee_of(budget.unit, epsilon, 0, budget.rows)
        share, whole = (book.share_after(name, *[one] * count, parts=parts, reserved=how) for how in (False, True))
        found = {
            "charges": count,
            "epsilon": one.epsilon,
            "used": _or_none(share),
            "used_reserved": _or_none(whole),
            "largest": largest,
        }
        after = f"{_after(share)}; {format_down(largest)}{each} fits."
        line = f"{name}: {_charges(count)} of epsilon {one.epsilon:g}{each} {after}"
        if whole < share:
            line += f" Reserved together, they {_after(whole)}."
    if as_json:
        print_json({"name": name, **found})
    else:
        typer.echo(line)


def _after(share: float) -> str:
    from tacit.privacy.ledger.records import format_share

    return f"would bring it to {format_share(share)}" if share <= 1 else "would exceed the budget"


def _or_none(share: float) -> float | None:
    return share if share <= 1 else None


def _charges(count: int) -> str:
    return "a charge" if count == 1 else f"{count:,} charges"
