"""``tacit bags``: label totals of groups of rows; make them, learn from them, and see which labels they tell."""

import typer

from tacit.cli.bags.attack import attack
from tacit.cli.bags.learn import learn
from tacit.cli.bags.protect import protect

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True, help="Label totals of groups of rows: make them, learn from them, see what they tell."
)
for command in (protect, learn, attack):
    app.command()(command)
