"""``tacit ledger``: what each data set may spend and has spent."""

import typer

from tacit.cli.ledger.budgets import budget, fits
from tacit.cli.ledger.charging import charge, reserve
from tacit.cli.ledger.creation import create, window
from tacit.cli.ledger.records import export, show, verify
from tacit.cli.ledger.wishes import needs

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True,
    help="Privacy budgets of data sets: every release is charged before it exists, and no budget is exceeded.",
)
for command in (create, window, budget, charge, reserve, fits, needs, verify, show, export):
    app.command()(command)
