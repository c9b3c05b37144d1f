"""``tacit ledger show``, ``verify`` and ``export``: what a ledger holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.ledger.options import HERE, Where, summary
from tacit.cli.options import AsJson, open_ledger, print_json

if TYPE_CHECKING:
    from rich.table import Table

    from tacit.privacy.ledger import DataSetStatement

__all__ = ["export", "show", "verify"]


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
    book = open_ledger(ledger)
    count = book.verify(against)
    if as_json:
        print_json({"ledger": book.location, "entries": count, "against": against and str(against)})
    else:
        typer.echo(
            f"The ledger {book.location} is whole: {count:,} entries{f', those of {against} too' if against else ''}."
        )


def show(
    name: Annotated[str | None, typer.Argument(help="One data set. Default: all.")] = None,
    ledger: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Show what each data set and part has spent and has left, and every charge.

    Example: tacit ledger show adult --json
    """
    book = open_ledger(ledger)
    statements = [book.statement(one) for one in ([name] if name else book.data_sets)]
    if as_json:
        print_json({"ledger": book.location, "data_sets": [statement.to_json() for statement in statements]})
        return
    if not statements:
        typer.echo(f"The ledger {book.location} has no data sets yet.")
    for statement in statements:
        typer.echo(summary(statement))
        _print_tables(statement)


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
    from tacit.privacy.endings import check_ending
    from tacit.privacy.files import check_writable

    book = open_ledger(ledger)
    check_writable(path, force=force, sources=[] if book.file is None else [book.file])
    check_ending(path, written="JSON")
    book.export(path, secret=secret, force=force)
    if as_json:
        print_json({"path": str(path), "secret": secret, "data_sets": list(book.data_sets)})
        return
    what = "A backup with the secret: keep it like the ledger" if secret else "Without the secret: it may be shared"
    typer.echo(f"{what}: {path}")


def _print_tables(statement: DataSetStatement) -> None:
    from rich.console import Console

    from tacit.privacy.ledger.records import ALL

    console = Console(markup=False, highlight=False)
    if [part.name for part in statement.parts] != [ALL]:
        console.print(_parts_table(statement))
        typer.echo(_lifetime(statement))
    if statement.entries:
        console.print(_entries_table(statement))


def _parts_table(statement: DataSetStatement) -> Table:
    from rich.table import Table

    from tacit.privacy.ledger.records import format_down, format_share
    from tacit.privacy.rounding import format_up

    table = Table("part", "rows", "budget", "used" if statement.spent is None else "spent", "left")
    for part in statement.parts:
        rows = f"{part.rows.start} to {part.rows.stop}" if part.rows else ""
        used = format_share(part.used) if part.spent is None else format_up(part.spent)
        table.add_row(part.name, rows, format_up(part.budget.epsilon), used, format_down(part.left))
    return table


def _lifetime(statement: DataSetStatement) -> str:
    from tacit.privacy.rounding import format_up

    epsilon, delta = map(format_up, statement.lifetime)
    return f"All charges together, for a person with rows in every part: epsilon {epsilon}, delta {delta}."


def _entries_table(statement: DataSetStatement) -> Table:
    from rich.table import Table

    table = Table("id", "day (UTC)", "rows", "parts", "charge", "purpose")
    rows = {version.number: str(version.rows) for version in statement.versions}
    for entry in statement.entries:
        charge = f"voids {entry.voids}" if entry.voids else str(entry.guarantee)
        if entry.reserves:
            made = sum(one.reserved_by == entry.id for one in statement.entries)
            charge += f" (reserves {entry.reserves:,} releases, {made:,} made)"
        if entry.reserved_by:
            charge += f" (reserved by {entry.reserved_by})"
        if entry.voided_by:
            charge += f" (voided by {entry.voided_by})"
        table.add_row(entry.id, entry.time[:10], rows[entry.version], ", ".join(entry.parts), charge, entry.purpose)
    for column in table.columns[:2]:
        column.no_wrap = True
    return table
