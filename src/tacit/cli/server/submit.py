"""``tacit scores join`` and ``submit``: be a team, send predictions and see the released score."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import AsJson, check_exists, print_json
from tacit.cli.server.connection import Competition, Token, Url, connect, find_slug

__all__ = ["join", "submit"]

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
    as_json: AsJson = False,
) -> None:
    """Submit predictions as a team, and print the released score and the remaining submissions.

    The team's token was shown when it joined. A rejected file uses no submission.

    Example: TACIT_TOKEN=tacit_team_... tacit scores submit predictions.csv --url http://127.0.0.1:8000
    """
    check_exists(file, "file", remedy="give the path of a CSV file of predictions")
    content = file.read_bytes()
    with connect(url, token) as client:
        slug = find_slug(client, competition)
        score = client.call("POST", f"/competitions/{slug}/submissions", content, content_type="text/csv")
        left = client.call("GET", f"/competitions/{slug}/budget")
    if as_json:
        print_json({"competition": slug, **score, "left": left})
        return
    limits = [f"{left[name]} {words}" for name, words in _LIMITS.items() if left[name] is not None]
    rest = f" Left: {', '.join(limits)}." if limits else ""
    told = f"scored {score['text']}" if score["text"] else "is kept for the end"
    typer.echo(f"Submission {score['number']} {told}.{rest}")
