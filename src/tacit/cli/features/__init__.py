"""``tacit features``: release few feature rows under noise, learn from them, and link them back."""

import typer

from tacit.cli.features.attack import attack
from tacit.cli.features.learn import learn
from tacit.cli.features.protect import protect

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True, help="Noised features: choose and release a few, learn from them, link them back."
)
for command in (protect, learn, attack):
    app.command()(command)
