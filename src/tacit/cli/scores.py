"""``tacit scores``: release scores of submissions, choose by them, recover labels from them, and host competitions."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tacit.cli.score_hosts import EndpointAttack, plan
from tacit.cli.server.audit import audit
from tacit.cli.server.owner import host
from tacit.cli.server.submit import choose, join, submit
from tacit.cli.surface import attack_command, learn_command, option, protect_command

__all__ = ["app"]

_SUBMISSIONS = Annotated[
    list[str] | None, typer.Option("--data", metavar="TABLE", help="A submission: a table of predictions; repeatable.")
]

app = typer.Typer(
    no_args_is_help=True,
    help="Release protected scores, choose by them, and see how many submissions reveal the labels.",
)
app.command()(protect_command("scores", extras=[option("data", _SUBMISSIONS, None)]))
app.command()(learn_command("scores", data=_SUBMISSIONS, unused=["test", "features", "hold_out"]))
_attack_release = attack_command("scores", data=_SUBMISSIONS)


def attack(**given: Any) -> None:  # noqa: ANN401
    """Attack a release, or a live endpoint with --url."""
    endpoint = EndpointAttack(**{name: given.pop(name) for name in EndpointAttack.__dataclass_fields__})
    if endpoint.url is None:
        endpoint.check_unused(given["release"])
        _attack_release(**given)
    else:
        endpoint.run(given)


EndpointAttack.extend(attack, _attack_release)
for command in (attack, plan, join, submit, choose, audit):
    app.command()(command)
app.add_typer(host, name="host")
