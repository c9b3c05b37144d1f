"""``tacit ledger create``: a ledger, and a data set with its budget."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.ledger.options import (
    HERE,
    Delta,
    Epsilon,
    RowsPerPerson,
    UnitName,
    Where,
    guarantee_of,
    without_entries,
)
from tacit.cli.options import AsJson, check_tables, naming, open_ledger, print_json

if TYPE_CHECKING:
    import pyarrow as pa

    from tacit.privacy.ledger import DataSetPart, Ledger

__all__ = ["create", "window"]


def create(
    name: Annotated[
        str | None, typer.Argument(help="A name for the data set; without it, only the ledger is created.")
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(metavar="TABLE", help="The private table, any that protect reads. Only a keyed digest is stored."),
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option(help="A column that the budget is for; repeatable. Default: all columns.")
    ] = None,
    unit: UnitName = None,
    epsilon: Epsilon = None,
    delta: Delta = "0",
    rows_per_person: RowsPerPerson = "1",
    part: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:START:STOP][=EPSILON]",
            help="A part that shares no row with the others; repeatable. START:STOP: it is a range of rows. =EPSILON: "
            "it has a smaller budget.",
        ),
    ] = None,
    restore: Annotated[
        Path | None, typer.Option(help="Create the ledger from an export, with its secret, data sets and charges.")
    ] = None,
    ledger: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Create a ledger, and give a data set its budget.

    If the ledger exists, the data set is added to it.

    Example: tacit ledger create adult --table adult.csv --column income --unit label --epsilon 3 --delta 1e-6
    """
    from tacit.privacy.errors import InvalidInput

    needed = [name, table, unit, epsilon]
    if None in needed and (needed != [None] * 4 or column or part):
        raise InvalidInput("a data set must have NAME, --table, --unit and --epsilon; for an empty ledger give none")
    check_tables({"table": table}, "table")
    _check_place(ledger, new=name is None or restore is not None)
    statement = None
    if name is None or table is None or unit is None or epsilon is None:
        book, made = _open_or_create(ledger, restore=restore, must_create=True, quiet=as_json)
    else:
        budget, parts = guarantee_of(unit, epsilon, delta, rows_per_person), [_part(text) for text in part or []]
        columns = _columns(table, column)
        book, made = _open_or_create(ledger, restore=restore, must_create=False, quiet=as_json)
        statement = book.register(columns, name=name, budget=budget, parts=parts, private=column or None)
        for overlap in book.overlaps(name):
            typer.echo(f"Note: {name} {overlap}. For these rows, releases from both add up.", err=True)
    if as_json:
        print_json({"ledger": book.location, "created": made, "data_set": statement and without_entries(statement)})
    elif statement:
        typer.echo(f"{name} may spend {statement.budget}.")


def window(
    name: Annotated[str, typer.Argument(help="The data set.")],
    days: Annotated[str, typer.Argument(help="The name of the window, such as 2026-11.")],
    table: Annotated[
        str,
        typer.Option(metavar="TABLE", help="The private table, any that protect reads. Only a keyed digest is stored."),
    ],
    column: Annotated[
        list[str] | None, typer.Option(help="A column that the budget is for; repeatable. Default: all columns.")
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="The epsilon of the window's budget. Default: that of the data set."),
    ] = None,
    ledger: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Give the rows that were appended to a data set a budget of their own.

    The table has the rows so far, then the new ones. Releases made before cost the new rows nothing. Charge the window
    with --part.

    Example: tacit ledger window visits 2026-11 --table visits.csv --column ill
    """
    from tacit.privacy.ledger import DataSetPart

    check_tables({"table": table}, "table")
    own = DataSetPart(name=days, epsilon=None if epsilon is None else _epsilon(epsilon))
    private = (batch.select(column or batch.schema.names) for batch in _columns(table, column))
    statement = open_ledger(ledger).open_window(private, name=name, window=own)
    if as_json:
        print_json(without_entries(statement))
    else:
        part = statement.parts[-1]
        rows = "" if part.rows is None else f"rows {part.rows.start} to {part.rows.stop}"
        typer.echo(f"{name}, {days}: {rows} may spend {part.budget}.")


def _part(text: str) -> DataSetPart:
    from tacit.privacy.errors import InvalidInput
    from tacit.privacy.ledger import DataSetPart

    what, _, own = text.partition("=")
    name, *limits = what.split(":")
    if len(limits) not in (0, 2) or not all(limit.isdecimal() for limit in limits):
        raise InvalidInput(f"must be NAME or NAME:START:STOP with two row numbers, got {text!r}", field="part")
    rows = range(int(limits[0]), int(limits[1])) if limits else None
    return DataSetPart(name=name, rows=rows, epsilon=_epsilon(own) if "=" in text else None)


def _epsilon(text: str) -> float:
    from tacit.privacy.errors import InvalidInput

    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"must be a number, got {text!r}", field="epsilon") from None


def _columns(source: str, names: list[str] | None) -> Iterator[pa.RecordBatch]:
    """All columns of the table: by those beside the named ones, rows are found in other data sets."""
    from tacit.data import open_table
    from tacit.data.rows import read_batches
    from tacit.privacy.errors import InvalidInput

    with naming("table"):
        table = open_table(source)
    unknown = [name for name in names or [] if name not in table.columns]
    if unknown:
        raise InvalidInput(f"must be one of {', '.join(table.columns)}, got {', '.join(unknown)}", field="column")
    if len(set(names or [])) < len(names or []):
        raise InvalidInput(f"must name each column once, got {', '.join(names or [])}", field="column")
    return read_batches(table, columns=table.columns, batch_rows=1 << 16)


def _check_place(location: str, *, new: bool) -> None:
    """Raise if a file is in the way or is no ledger, before half a second of imports."""
    if "://" in location or not os.path.lexists(location):
        return
    from tacit.privacy.errors import LedgerError
    from tacit.privacy.ledger.sqlite_file import check_file

    if new:
        raise LedgerError(f"{location} exists already; it was not changed")
    check_file(Path(location))


def _open_or_create(location: str, *, restore: Path | None, must_create: bool, quiet: bool) -> tuple[Ledger, bool]:
    """Return a ledger, and whether it was created; print that at once, because the data set may still be rejected."""
    from tacit.privacy.ledger import Ledger

    if not must_create and restore is None and Ledger.exists(location):
        return open_ledger(location), False
    made = Ledger.create(location, restore=restore)
    if not quiet:
        typer.echo(f"The ledger {made.location} was created{f' from {restore}' if restore else ''}; it holds a secret.")
    return made, True
