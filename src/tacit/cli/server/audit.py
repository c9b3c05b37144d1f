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
        int | None, typer.Option(help="Submissions of the attacker, up to 10,000. Default: a team's whole budget.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Attack a copy of a competition on its server, and fail if the scores leak too much.

    The server runs the real attack over HTTP against a copy: same labels, metric, policy and split. Nothing is
    charged to the ledger and no team sees it. The audit compares two shares of labels guessed correctly: by the
    attacker with all its scores, and by the features alone (a model that is evaluated on rows it has not seen).

    Exit code 0: the scores added at most --max-recovered. 1: they added more. 2: the audit could not run.

    Example: tacit scores audit --url http://127.0.0.1:8000 --token tacit_host_... --max-recovered 0.05
    """
    from tacit.privacy.errors import InvalidInput

    if not 0 <= max_recovered <= 1:
        raise InvalidInput(f"must be a share from 0 to 1, got {max_recovered!r}", field="max_recovered")
    with connect(url, token) as client:
        slug = find_slug(client, competition)
        told = client.call("GET", f"/competitions/{slug}/forecast")
        result = _run(client, slug, submissions)
    passed = result["gained"] <= max_recovered
    if as_json:
        print_json({"competition": slug, "passed": passed, "max_recovered": max_recovered, **result, "forecast": told})
    else:
        typer.echo(_words(slug, result, told["sentence"], passed=passed, most=max_recovered))
    raise typer.Exit(0 if passed else 1)


def _run(client: ServerClient, slug: str, submissions: int | None) -> dict[str, Any]:
    """Start the replay and wait for its end, with its progress on standard error."""
    from tacit.privacy.errors import TacitError

    state = client.call("POST", f"/competitions/{slug}/replay", {"submissions": submissions})
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
    verdict = "Passed" if passed else "Failed"
    return (
        f"{verdict}: {result['submissions']:,} submissions to {slug} reveal {100 * result['recovered']:.1f}% of "
        f"{result['rows']:,} labels; the features alone reveal {100 * result['baseline']:.1f}%. The scores added "
        f"{100 * result['gained']:.1f} points, {100 * most:g} are allowed.\n"
        f"Attack: {result['attack']}, {result['seconds']:.1f} s.\nForecast: {forecast}"
    )
