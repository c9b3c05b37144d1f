"""``tacit scores join`` and ``submit``: be a team, send predictions and see the released score."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.options import AsJson, check_exists, print_json
from tacit.cli.server.connection import Competition, Token, Url, connect, find_slug

__all__ = ["choose", "join", "submit"]

_LIMITS = {"today": "today", "total": "in all", "live": "with a live score"}


def join(
    invite: Annotated[str, typer.Argument(help="The code that the host gave.")],
    name: Annotated[str, typer.Option(help="The name that everybody sees on the leaderboard.")],
    url: Url = "http://127.0.0.1:8000",
    as_json: AsJson = False,
) -> None:
    """Join a competition with an invite, and print the team's token, which is shown only once.

    Example: tacit scores join tacit_invite_... --name Newcomers
    """
    from tacit.server.client import ServerClient

    with ServerClient(url=url) as client:
        joined = client.call("POST", "/teams", {"invite": invite.strip(), "name": name})
    if as_json:
        print_json(joined)
        return
    typer.echo(f"{joined['team']['name']} joined {joined['team']['competition']}. The token, shown only once:")
    typer.echo(joined["token"])


def submit(
    file: Annotated[Path, typer.Argument(help="Predictions: a CSV file with the competition's columns.")],
    url: Url = "http://127.0.0.1:8000",
    token: Token = "",
    competition: Competition = None,
    note: Annotated[str, typer.Option(help="A line about it, for the team and the host.")] = "",
    wait: Annotated[
        float, typer.Option(min=0, help="Seconds for which a busy or unreachable server is tried again.")
    ] = 60.0,
    as_json: AsJson = False,
) -> None:
    """Submit predictions as a team, and print the released score and the remaining submissions.

    The team's token was shown when it joined. A rejected file uses no submission, and one that is sent again counts
    once. Where the score is noisy, it comes with the range that holds the exact one with 95% confidence.

    Example: TACIT_TOKEN=tacit_team_... tacit scores submit predictions.csv --url http://127.0.0.1:8000
    """
    check_exists(file, "file", remedy="give the path of a CSV file of predictions")
    content = file.read_bytes()
    with connect(url, token, patience=wait) as client:
        slug = find_slug(client, competition)
        score = client.submit_file(slug, content, note=note)
        left = client.call("GET", f"/competitions/{slug}/budget")
    if as_json:
        print_json({"competition": slug, **score, "left": left})
        return
    limits = [f"{left[name]} {words}" for name, words in _LIMITS.items() if left[name] is not None]
    rest = f" Left: {', '.join(limits)}." if limits else ""
    told = f"scored {score['text']}{_range(score)}" if score["text"] else "is kept for the end"
    typer.echo(f"Submission {score['number']} {told}.{rest}")


def choose(
    number: Annotated[
        int | None, typer.Argument(help="The submission to be ranked at the end. Default: the last one.", min=1)
    ] = None,
    url: Url = "http://127.0.0.1:8000",
    token: Token = "",
    competition: Competition = None,
    as_json: AsJson = False,
) -> None:
    """Choose which of the team's submissions is ranked at the end.

    Example: TACIT_TOKEN=tacit_team_... tacit scores choose 3 --url http://127.0.0.1:8000
    """
    with connect(url, token) as client:
        slug = find_slug(client, competition)
        left = client.call("PUT", f"/competitions/{slug}/choice", {"number": number})
    if as_json:
        print_json(left)
        return
    typer.echo(f"Ranked at the end: {'the last submission' if number is None else f'submission {number}'}.")


def _range(score: dict[str, Any]) -> str:
    """Return where the exact score is, unless the digits say as much."""
    digits = len(score["text"].partition(".")[2])
    low, high = score["interval"] or (0.0, 0.0)
    return "" if high - low < 1.5 * 10.0**-digits else f" [{low:.{digits}f}, {high:.{digits}f}]"
