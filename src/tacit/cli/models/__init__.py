"""``tacit models``: train a network to its margin or privately, and measure what it tells."""

import typer

from tacit.cli.models.attack import attack
from tacit.cli.models.learn import learn
from tacit.cli.models.protect import protect

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True, help="Trained networks: train to the margin, train privately, tell who was trained on."
)
for command in (protect, learn, attack):
    app.command()(command)
