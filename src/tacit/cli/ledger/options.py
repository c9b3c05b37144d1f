"""The options that several commands of the ledger share, and what is made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from tacit.privacy.guarantee import Guarantee
    from tacit.privacy.ledger import DataSetStatement

__all__ = [
    "HERE",
    "Charges",
    "Delta",
    "Epsilon",
    "RowsPerPerson",
    "UnitName",
    "Where",
    "count_of",
    "guarantee_of",
    "summary",
    "without_entries",
]

HERE = "ledger.db"
MOST_CHARGES = 100_000

Charges = Annotated[str, typer.Option(metavar="INTEGER", help="The number of equal charges.")]

Where = Annotated[
    str,
    typer.Option(
        "--ledger",
        envvar="TACIT_LEDGER",
        metavar="FILE_OR_URL",
        help="A SQLite file, or postgresql://USER@HOST/DATABASE.",
    ),
]
UnitName = Annotated[
    str | None, typer.Option(metavar="label|record|bag", help="The unit of privacy: what a change of the data changes.")
]
Epsilon = Annotated[
    str | None,
    typer.Option(metavar="NUMBER", help="The epsilon of the budget or charge, read as the decimal you type."),
]
Delta = Annotated[
    str, typer.Option(metavar="NUMBER", help="The delta of the guarantee; 0 is pure differential privacy.")
]
RowsPerPerson = Annotated[
    str,
    typer.Option(metavar="INTEGER", help="How many rows of one person are used at most; epsilon is for all of them."),
]


def guarantee_of(unit: Any, epsilon: Any, delta: Any, rows_per_person: Any) -> Guarantee:  # noqa: ANN401
    """Return the guarantee of a plan with these words, which mean the same there."""
    from tacit.privacy.errors import InvalidInput
    from tacit.privacy.guarantee import Guarantee
    from tacit.privacy.plan import Plan

    plan = Plan(label="any", unit=unit, epsilon=epsilon, delta=delta, rows_per_person=rows_per_person)
    if plan.epsilon is None:
        raise InvalidInput("must be a number", field="epsilon")
    if plan.unit is None:
        raise InvalidInput("must be label, record or bag", field="unit")
    return Guarantee(unit=plan.unit, epsilon=plan.epsilon, delta=plan.delta, rows=plan.rows_per_person)


def count_of(charges: str) -> int:
    """Return how many charges are meant."""
    from tacit.privacy.errors import InvalidInput

    if not charges.isdecimal() or not 0 < int(charges) <= MOST_CHARGES:
        raise InvalidInput(f"must be an integer from 1 to {MOST_CHARGES:,}, got {charges!r}", field="charges")
    return int(charges)


def summary(statement: DataSetStatement) -> str:
    """Return one sentence: what is spent, of which budget."""
    return f"{statement.name}: {statement.worst}; the budget is {statement.budget}."


def without_entries(statement: DataSetStatement) -> dict[str, Any]:
    """Return a statement as JSON, without its charges."""
    return {name: value for name, value in statement.to_json().items() if name != "entries"}
