"""``tacit ledger``: what each data set may spend and has spent."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.options import AsJson, check_tables, naming, open_ledger

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.table import Table

    from tacit.privacy.guarantee import Guarantee
    from tacit.privacy.ledger import DataSetPart, DataSetStatement, Ledger

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True,
    help="Privacy budgets of data sets: every release is charged before it exists, and no budget is exceeded.",
)

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

HERE = "ledger.db"
MOST_CHARGES = 100_000


@app.command()
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
            metavar="NAME[:START:STOP]",
            help="A part that shares no row with the others; give START:STOP if it is a range of rows; repeatable.",
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
        budget, parts = _guarantee(unit, epsilon, delta, rows_per_person), [_part(text) for text in part or []]
        columns = _columns(table, column)
        book, made = _open_or_create(ledger, restore=restore, must_create=False, quiet=as_json)
        statement = book.register(columns, name=name, budget=budget, parts=parts)
    if as_json:
        _print_json({"ledger": book.location, "created": made, "data_set": statement and _without_entries(statement)})
    elif statement:
        typer.echo(f"{name} may spend {statement.budget}.")


@app.command()
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
    book = _open(ledger)
    statement = book.statement(name)
    if epsilon is not None or delta is not None:
        now = statement.budget
        new = _guarantee(
            now.unit, now.epsilon if epsilon is None else epsilon, now.delta if delta is None else delta, now.rows
        )
        statement = book.set_budget(name, replace(now, epsilon=new.epsilon, delta=new.delta))
    if as_json:
        _print_json(_without_entries(statement))
    else:
        typer.echo(_summary(statement))


@app.command()
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

        receipt = Payment(ledger=_open(ledger)).void(void, reason=reason)
    else:
        if name is None or unit is None or epsilon is None or purpose is None or reason is not None:
            raise InvalidInput("a charge must have NAME, --unit, --epsilon and --purpose; --reason is for --void")
        guarantee = _guarantee(unit, epsilon, delta, rows_per_person)
        receipt = _open(ledger).charge(name, guarantee, parts=part or None, purpose=purpose)
    if as_json:
        _print_json(receipt.to_json())
    else:
        typer.echo(f"{receipt}")


@app.command()
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
    book, count, each = _open(ledger), int(charges), "" if charges == "1" else " each"
    largest = book.fitting(name, charges=count, parts=part or None)
    if epsilon is None:
        found: dict[str, Any] = {"charges": count, "epsilon": largest}
        line = f"{name}: {_charges(count)} of epsilon {format_down(largest)}{each} fit{'s' if count == 1 else ''}."
    else:
        budget = book.statement(name).budget
        one = _guarantee(budget.unit, epsilon, 0, budget.rows)
        share = book.share_after(name, *[one] * count, parts=part or None)
        found = {"charges": count, "epsilon": one.epsilon, "used": share if share <= 1 else None, "largest": largest}
        after = f"would bring it to {format_share(share)}" if share <= 1 else "would exceed the budget"
        line = f"{name}: {_charges(count)} of epsilon {one.epsilon:g}{each} {after}; {format_down(largest)}{each} fits."
    if as_json:
        _print_json({"name": name, **found})
    else:
        typer.echo(line)


@app.command()
def verify(
    against: Annotated[
        Path | None,
        typer.Option(help="An earlier receipt (charge --json) or export: its entries must be there, unchanged."),
    ] = None,
    ledger: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Check that no entry is missing or changed, and that all accounts are what the entries say.

    A deleted end and an older copy of the ledger are only seen with --against.

    Example: tacit ledger verify

    Example: tacit ledger verify --against receipt.json
    """
    book = _open(ledger)
    count = book.verify(against)
    if as_json:
        _print_json({"ledger": book.location, "entries": count, "against": against and str(against)})
    else:
        typer.echo(
            f"The ledger {book.location} is whole: {count:,} entries{f', those of {against} too' if against else ''}."
        )


@app.command()
def show(
    name: Annotated[str | None, typer.Argument(help="One data set. Default: all.")] = None,
    ledger: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Show what each data set and part has spent and has left, and every charge.

    Example: tacit ledger show adult --json
    """
    book = _open(ledger)
    statements = [book.statement(one) for one in ([name] if name else book.data_sets)]
    if as_json:
        _print_json({"ledger": book.location, "data_sets": [statement.to_json() for statement in statements]})
        return
    if not statements:
        typer.echo(f"The ledger {book.location} has no data sets yet.")
    for statement in statements:
        typer.echo(_summary(statement))
        _print_tables(statement)


@app.command()
def export(
    path: Annotated[Path, typer.Argument(help="The file to write: JSON that only its owner can read.")],
    secret: Annotated[
        bool, typer.Option(help="With the secret it is a backup; without it, it can be shared but not restored.")
    ] = True,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    ledger: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Write everything in the ledger to a file.

    Example: tacit ledger export backup.json

    Example: tacit ledger export for-the-auditor.json --no-secret
    """
    from tacit.privacy.files import check_writable

    book = _open(ledger)
    check_writable(path, force=force, sources=[] if book.file is None else [book.file])
    book.export(path, secret=secret, force=force)
    if as_json:
        _print_json({"path": str(path), "secret": secret, "data_sets": list(book.data_sets)})
        return
    what = "A backup with the secret: keep it like the ledger" if secret else "Without the secret: it may be shared"
    typer.echo(f"{what}: {path}")


def _guarantee(unit: Any, epsilon: Any, delta: Any, rows_per_person: Any) -> Guarantee:  # noqa: ANN401
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


def _charges(count: int) -> str:
    return "a charge" if count == 1 else f"{count:,} charges"


def _part(text: str) -> DataSetPart:
    from tacit.privacy.errors import InvalidInput
    from tacit.privacy.ledger import DataSetPart

    name, *limits = text.split(":")
    if not limits:
        return DataSetPart(name=name)
    if len(limits) != 2 or not all(limit.isdecimal() for limit in limits):
        raise InvalidInput(f"must be NAME or NAME:START:STOP with two row numbers, got {text!r}", field="part")
    return DataSetPart(name=name, rows=range(int(limits[0]), int(limits[1])))


def _columns(source: str, names: list[str] | None) -> Iterator[pa.RecordBatch]:
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
    return read_batches(table, columns=names or table.columns, batch_rows=1 << 16)


def _open(location: str) -> Ledger:
    from tacit.privacy.ledger.sqlite_file import check_file

    if "://" not in location:
        check_file(Path(location))  # before SQLAlchemy is imported
    return open_ledger(location)


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


def _without_entries(statement: DataSetStatement) -> dict[str, Any]:
    return {name: value for name, value in statement.to_json().items() if name != "entries"}


def _summary(statement: DataSetStatement) -> str:
    return f"{statement.name}: {statement.worst}; the budget is {statement.budget}."


def _print_tables(statement: DataSetStatement) -> None:
    from rich.console import Console

    from tacit.privacy.ledger.records import ALL

    console = Console(markup=False, highlight=False)
    if [part.name for part in statement.parts] != [ALL]:
        console.print(_parts_table(statement))
    if statement.entries:
        console.print(_entries_table(statement))


def _parts_table(statement: DataSetStatement) -> Table:
    from rich.table import Table

    from tacit.privacy.ledger.records import format_down, format_share
    from tacit.privacy.rounding import format_up

    table = Table("part", "rows", "used" if statement.spent is None else "spent", "left")
    for part in statement.parts:
        rows = f"{part.rows.start} to {part.rows.stop}" if part.rows else ""
        used = format_share(part.used) if part.spent is None else format_up(part.spent)
        table.add_row(part.name, rows, used, format_down(part.left))
    return table


def _entries_table(statement: DataSetStatement) -> Table:
    from rich.table import Table

    table = Table("id", "day (UTC)", "rows", "parts", "charge", "purpose")
    rows = {version.number: str(version.rows) for version in statement.versions}
    for entry in statement.entries:
        charge = f"voids {entry.voids}" if entry.voids else str(entry.guarantee)
        if entry.voided_by:
            charge += f" (voided by {entry.voided_by})"
        table.add_row(entry.id, entry.time[:10], rows[entry.version], ", ".join(entry.parts), charge, entry.purpose)
    for column in table.columns[:2]:
        column.no_wrap = True
    return table


def _print_json(document: object) -> None:
    typer.echo(json.dumps(document, indent=1))
