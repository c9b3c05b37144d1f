"""``tacit labels``: randomize a label column, learn from it, and see what it still tells."""

import typer

from tacit.cli.labels.attack import attack
from tacit.cli.labels.learn import learn
from tacit.cli.labels.protect import protect

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True, help="One randomized label a row: protect a label column, learn from it, attack it."
)
for command in (protect, learn, attack):
    app.command()(command)
