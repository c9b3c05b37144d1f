"""``tacit ledger charge``: record a release that another tool makes, or void such a charge."""

from __future__ import annotations

from typing import Annotated

import typer

from tacit.cli.ledger.options import (
    HERE,
    Delta,
    Epsilon,
    RowsPerPerson,
    UnitName,
    Where,
    guarantee_of,
)
from tacit.cli.options import AsJson, open_ledger, print_json

__all__ = ["charge"]


def charge(
    name: Annotated[str | None, typer.Argument(help="The data set.")] = None,
    unit: UnitName = None,
    epsilon: Epsilon = None,
    delta: Delta = "0",
    rows_per_person: RowsPerPerson = "1",
    part: Annotated[
        list[str] | None, typer.Option(help="A part that the release is made from; repeatable. Default: all parts.")
    ] = None,
    purpose: Annotated[
        str | None, typer.Option(help="One line for the record: the mechanism, and what it is for.")
    ] = None,
    void: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Void an earlier charge whose release was never made, instead of charging."),
    ] = None,
    reason: Annotated[str | None, typer.Option(help="With --void: the reason.")] = None,
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
        charged = (name, unit, epsilon, part, purpose)  # a void cancels the whole charge, of all its parts
        if reason is None or any(given is not None for given in charged):
            raise InvalidInput("--void requires --reason, and excludes NAME, --unit, --epsilon, --part and --purpose")
        from tacit.privacy.payment import Payment

        receipt = Payment(ledger=open_ledger(ledger)).void(void, reason=reason)
    else:
        if name is None or unit is None or epsilon is None or purpose is None or reason is not None:
            raise InvalidInput("a charge must have NAME, --unit, --epsilon and --purpose; --reason is for --void")
        guarantee = guarantee_of(unit, epsilon, delta, rows_per_person)
        receipt = open_ledger(ledger).charge(name, guarantee, parts=part or None, purpose=purpose)
    if as_json:
        print_json(receipt.to_json())
    else:
        typer.echo(f"{receipt}")
