"""``tacit scores host``: whom the host lets run a competition, its state, a copy of all its data, and its deletion."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import AsJson, print_json
from tacit.cli.server.connection import Competition, Token, Url, Yes, confirm, connect, find_slug
from tacit.cli.server.host import host, say

__all__ = ["host"]

Name = Annotated[str, typer.Argument(help="The organizer's name.")]


@host.command()
def state(
    wanted: Annotated[str, typer.Argument(metavar="open|closed|archived", help="What the competition becomes.")],
    closes: Annotated[datetime | None, typer.Option(help="Last moment for submissions, in UTC.")] = None,
    reason: Annotated[str, typer.Option(help="The reason, one line for the record.")] = "",
    competition: Competition = None,
    url: Url = "http://127.0.0.1:8000",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Close, reopen or archive a competition; an archived one is closed and not listed.

    Example: tacit scores host state closed --competition titanic
    """
    sent = {"state": wanted, "reason": reason, "closes": closes and closes.replace(tzinfo=UTC).isoformat()}
    with connect(url, token) as client:
        found = client.call("POST", f"/competitions/{find_slug(client, competition)}/state", sent)
    say(found, [f"{found['name']} is {wanted}."], as_json=as_json)


@host.command()
def delete(
    competition: Annotated[str, typer.Argument(metavar="SLUG", help="The competition's short name.")],
    yes: Yes = False,
    url: Url = "http://127.0.0.1:8000",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Delete a competition with its labels, teams, submissions and scores; its charges stay in the ledger.

    Example: tacit scores host delete titanic --yes
    """
    with connect(url, token) as client:
        confirm(f"The competition {competition} and all its data are deleted", yes=yes)
        found = client.call("DELETE", f"/competitions/{competition}", query={"confirm": competition})
    say(found, [f"{competition} is deleted."], as_json=as_json)


@host.command()
def organizers(
    competition: Competition = None, url: Url = "http://127.0.0.1:8000", token: Token = "", as_json: AsJson = False
) -> None:
    """List the organizers of a competition.

    Example: tacit scores host organizers --competition titanic
    """
    with connect(url, token) as client:
        found = client.call("GET", f"/competitions/{find_slug(client, competition)}/organizers")
    say(found, [f"{one['name']}, {one['role']}, since {one['added']}" for one in found] or ["None."], as_json=as_json)


@host.command()
def organizer(
    name: Name,
    role: Annotated[
        str,
        typer.Option(
            metavar="viewer|manager|owner",
            help="viewer: sees teams, flags and the spend; manager: also manages teams, invites, texts and dates; "
            "owner: also closes, archives and deletes, releases the final ranking and chooses organizers.",
        ),
    ] = "manager",
    remove: Annotated[bool, typer.Option("--remove", help="Remove the organizer, with token and sessions.")] = False,
    competition: Competition = None,
    url: Url = "http://127.0.0.1:8000",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Add an organizer of one competition and print the token, once; or remove an organizer.

    Example: tacit scores host organizer "Ada Lovelace" --role manager --competition titanic
    """
    with connect(url, token) as client:
        organizers = f"/competitions/{find_slug(client, competition)}/organizers"
        if remove:
            say(client.call("DELETE", f"{organizers}/{name}"), [f"{name} is removed."], as_json=as_json)
        else:
            found = client.call("POST", organizers, {"name": name, "role": role})
            say(found, [found["token"]], as_json=as_json)


@host.command()
def export(
    out: Annotated[
        Path, typer.Option(help="Where to write the result: a new file .json, or .zip with a CSV file for each table.")
    ],
    predictions: Annotated[bool, typer.Option(help="Include all predictions, in a ZIP archive.")] = False,
    competition: Competition = None,
    url: Url = "http://127.0.0.1:8000",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Write everything about a competition except labels and tokens: teams, submissions, flags, scores, actions.

    Example: tacit scores host export --out titanic.zip --competition titanic
    """
    from tacit.privacy.errors import InvalidInput
    from tacit.privacy.files import write_atomically

    if out.suffix not in (".json", ".zip"):
        raise InvalidInput(f"must end in .json or .zip, got {out}", field="out")
    form = "csv" if out.suffix == ".zip" else "json"
    with connect(url, token) as client:
        query = {"form": form, "predictions": str(predictions).lower()}
        with write_atomically(out) as draft:
            client.fetch(f"/competitions/{find_slug(client, competition)}/export", draft, query=query)
    if as_json:
        print_json({"file": str(out)})
    else:
        typer.echo(str(out))
