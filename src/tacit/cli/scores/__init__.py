"""``tacit scores``: attack scores, host a competition that withstands it, submit to one, and audit it."""

import typer

from tacit.cli.scores.attack import attack, plan
from tacit.cli.scores.audit import audit
from tacit.cli.scores.host import host
from tacit.cli.scores.submit import join, submit

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="How many submissions until the labels are public.")
for command in (plan, attack, join, submit, audit):
    app.command()(command)
app.add_typer(host, name="host")
