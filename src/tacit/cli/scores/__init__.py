"""``tacit scores``: release guarded scores, choose by them, attack them, and host a competition that withstands it."""

import typer

from tacit.cli.scores.attack import attack, plan
from tacit.cli.scores.audit import audit
from tacit.cli.scores.host import host
from tacit.cli.scores.learn import learn
from tacit.cli.scores.protect import protect
from tacit.cli.scores.submit import join, submit

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True, help="Release guarded scores, choose by them, and see how many submissions tell the labels."
)
for command in (protect, learn, attack, plan, join, submit, audit):
    app.command()(command)
app.add_typer(host, name="host")
