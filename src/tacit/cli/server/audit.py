"""``tacit scores audit``: replay the attack against a copy of a competition, with an exit code for CI."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.options import AsJson, print_json
from tacit.cli.progress import show_progress
from tacit.cli.server.connection import Competition, Token, Url, connect, find_slug

if TYPE_CHECKING:
    from tacit.server.client import ServerClient

__all__ = ["audit"]

_PAUSE = 0.5


def audit(
    url: Url = "http://127.0.0.1:8000",
    token: Token = "",
    competition: Competition = None,
    max_recovered: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="Labels that the scores may reveal beyond the features alone, as a share of all rows: 0.05 is five "
            "points.",
        ),
    ] = 0.05,
    submissions: Annotated[
        int | None, typer.Option(help="Submissions of each attacking team, up to 10,000. Default: its whole budget.")
    ] = None,
    attackers: Annotated[
        int | None, typer.Option(help="Teams that share their scores. Default: all that may join.", min=1)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Attack a copy of a competition on its server, and fail if the scores leak too much.

    The server runs the real attack over HTTP against a copy: same labels, metric, policy and split. Nothing is
    charged to the ledger and no team sees it. The audit compares two shares of labels guessed correctly: by the
    attackers with all their scores, and by the features alone (a model that is evaluated on rows it has not seen).

    Exit code 0: the scores added at most --max-recovered. 1: they added more. 2: the audit could not run.

    Example: tacit scores audit --url http://127.0.0.1:8000 --token tacit_host_... --max-recovered 0.05
    """
    from tacit.privacy.errors import InvalidInput

    if not 0 <= max_recovered <= 1:
        raise InvalidInput(f"must be a share from 0 to 1, got {max_recovered!r}", field="max_recovered")
    with connect(url, token) as client:
        slug = find_slug(client, competition)
        told = client.call("GET", f"/competitions/{slug}/forecast")
        result = _run(client, slug, {"submissions": submissions, "teams": attackers})
    passed = result["gained"] <= max_recovered
    if as_json:
        print_json({"competition": slug, "passed": passed, "max_recovered": max_recovered, **result, "forecast": told})
    else:
        typer.echo(_words(slug, result, told["sentence"], passed=passed, most=max_recovered))
    raise typer.Exit(0 if passed else 1)


def _run(client: ServerClient, slug: str, asked: dict[str, int | None]) -> dict[str, Any]:
    """Start the replay and wait for its end, with its progress on standard error."""
    from tacit.privacy.errors import TacitError

    state = client.call("POST", f"/competitions/{slug}/replay", asked)
    with show_progress("submissions") as report:
        while state["running"]:
            time.sleep(_PAUSE)
            state = client.call("GET", f"/competitions/{slug}/replay")
            if at := state["progress"]:
                report(at["submissions"], at["planned"], f"{100 * at['recovered']:.1f}% of labels, submissions")
    if state["error"]:
        raise TacitError(f"the replay ended: {state['error']}")
    result: dict[str, Any] = state["result"]
    return result


def _words(slug: str, result: dict[str, Any], forecast: str, *, passed: bool, most: float) -> str:
    from tacit.privacy.words import counted

    verdict = "Passed" if passed else "Failed"
    made = f"{result['submissions']:,} submissions of {counted(result['teams'], 'team')}"
    return (
        f"{verdict}: {made} to {slug} reveal {100 * result['recovered']:.1f}% of {result['rows']:,} labels; the "
        f"features alone reveal {100 * result['baseline']:.1f}%. The scores added {100 * result['gained']:.1f} points, "
        f"{100 * most:g} are allowed. Attackers are sure of {counted(result['exposed'], 'label')} that the features do "
        f"not reveal.\nAttack: {result['attack']}, {result['seconds']:.1f} s.\nForecast: {forecast}"
    )
