"""``tacit ledger charge`` and ``reserve``: record releases that another tool makes, or that are made later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.ledger.options import (
    HERE,
    Charges,
    Delta,
    Epsilon,
    RowsPerPerson,
    UnitName,
    Where,
    count_of,
    guarantee_of,
)
from tacit.cli.options import AsJson, open_ledger, print_json
from tacit.cli.words import RESERVED

if TYPE_CHECKING:
    from tacit.privacy.ledger import Receipt

__all__ = ["charge", "reserve"]

_PURPOSE = typer.Option(help="One line for the record: the mechanism, and what it is for.")


def charge(
    name: Annotated[str | None, typer.Argument(help="The data set.")] = None,
    unit: UnitName = None,
    epsilon: Epsilon = None,
    delta: Delta = "0",
    rows_per_person: RowsPerPerson = "1",
    part: Annotated[
        list[str] | None, typer.Option(help="A part that the release is made from; repeatable. Default: all parts.")
    ] = None,
    purpose: Annotated[str | None, _PURPOSE] = None,
    reserved: RESERVED = None,
    void: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="Void an earlier charge whose release was never made, instead of charging; requires --reason.",
        ),
    ] = None,
    reason: Annotated[str | None, typer.Option(help="The reason, one line for the record.")] = None,
    ledger: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Charge a data set before something is released from it, or void such a charge.

    A charge that would overspend is refused, changes nothing, and the command exits with 2.

    Example: tacit ledger charge adult --unit label --epsilon 1 --purpose "randomized response on income"

    Example: tacit ledger charge --void adult/1 --reason "the job failed before anything was written"
    """
    from tacit.privacy.errors import InvalidInput

    if void is not None:
        charged = (name, unit, epsilon, part, purpose, reserved)  # a void cancels the whole charge, of all its parts
        if reason is None or any(given is not None for given in charged):
            raise InvalidInput(
                "--void requires --reason, and excludes NAME, --unit, --epsilon, --part, --purpose and --reserved"
            )
        from tacit.privacy.payment import Payment

        receipt = Payment(ledger=open_ledger(ledger)).void(void, reason=reason)
    else:
        if name is None or unit is None or epsilon is None or purpose is None or reason is not None:
            raise InvalidInput("a charge must have NAME, --unit, --epsilon and --purpose; --reason is for --void")
        guarantee = guarantee_of(unit, epsilon, delta, rows_per_person)
        receipt = open_ledger(ledger).charge(name, guarantee, parts=part or None, purpose=purpose, reserved=reserved)
    _print(receipt, as_json=as_json)


def reserve(
    name: Annotated[str, typer.Argument(help="The data set.")],
    epsilon: Annotated[str, typer.Option(metavar="NUMBER", help="The epsilon of each release.")],
    purpose: Annotated[str, _PURPOSE],
    charges: Charges = "1",
    delta: Delta = "0",
    part: Annotated[
        list[str] | None, typer.Option(help="A part that the releases are made from; repeatable. Default: all parts.")
    ] = None,
    ledger: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Charge for many later releases together, at a lower total cost than one by one.

    Reserve before anything else is charged: the price is then that of releases fixed beforehand. Make each with
    --reserved and the id that is printed. Releases that cost no more may take their places. Nothing comes back.

    Example: tacit ledger reserve adult --epsilon 0.01 --charges 1000 --purpose "a total every day"
    """
    book = open_ledger(ledger)
    budget = book.statement(name).budget
    each = guarantee_of(budget.unit, epsilon, delta, budget.rows)
    receipt = book.reserve(name, *[each] * count_of(charges), parts=part or None, purpose=purpose)
    _print(receipt, as_json=as_json)


def _print(receipt: Receipt, *, as_json: bool) -> None:
    if as_json:
        print_json(receipt.to_json())
    else:
        typer.echo(f"{receipt}")
