"""``tacit scores host``: run a competition from the command line, with the admin token."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.listing import CommandListing
from tacit.cli.options import AsJson, print_json
from tacit.cli.server.connection import Competition, Token, Url, Yes, confirm, connect, find_slug
from tacit.cli.server.create_options import PARAMETERS, RULES

__all__ = ["host", "say"]

Lines = Callable[[Any], Iterable[str]]

host = typer.Typer(
    cls=CommandListing,
    no_args_is_help=True,
    help="Run competitions on a scoring server: create them, invite teams, see what happens.",
)


def create(**given: Any) -> None:  # noqa: ANN401
    """Create a competition from the rows that teams get and a file of labels.

    By default the rules are the recommended ones. All teams share as many live scores, on 30% of the rows, as give them
    together 10 percentage points of advantage; other submissions are kept. The ranking that counts is made once, from
    each team's last submission on the other 70%, by tacit scores host final.

    Example: tacit scores host create flowers --data rows.csv --truth labels.csv --metric accuracy
    """
    slug, url = given["slug"], given["url"]
    body: dict[str, Any] = {
        **{one.name: given[one.name] for one in RULES if given[one.name] is not None},
        "slug": slug,
        "name": given["name"] or slug,
        "description": given["description"],
        "opens": _moment(given["opens"]),
        "closes": _moment(given["closes"]),
        "public": not given["private"],
        "features": _text(given["data"]),
        "labels": _text(given["truth"]),
    }
    with connect(url, given["token"]) as client:
        made = client.call("POST", "/competitions", body)
    head = f"{made['name']}: {made['rows']:,} rows, {url.rstrip('/')}/c/{made['slug']}"
    rules = (f"  {rule}" for rule in made["rules"])
    cautions = (f"Caution: {caution}" for caution in made["cautions"])
    say(
        made,
        [head, *rules, *cautions, f"Next: tacit scores host invite --competition {slug}"],
        as_json=given["as_json"],
    )


create.__signature__ = inspect.Signature(PARAMETERS)  # type: ignore[attr-defined]
create.__annotations__ = {one.name: one.annotation for one in PARAMETERS}
host.command()(create)


@host.command("list")
def list_competitions(url: Url = "http://127.0.0.1:8000", token: Token = "", as_json: AsJson = False) -> None:
    """List the server's competitions.

    Example: tacit scores host list
    """
    with connect(url, token) as client:
        found = client.call("GET", "/competitions")
    rows = (
        f"{one['slug']}: {one['name']}, {one['rows']:,} rows, {one['joined']} of {one['teams']} teams" for one in found
    )
    say(found, rows, as_json=as_json)


def _asking(method: str, what: str) -> Callable[[Lines], Lines]:
    """Make a command about one competition of a function that tells the server's answer in lines."""

    def decorate(tell: Lines) -> Lines:
        def command(
            competition: Competition = None,
            url: Url = "http://127.0.0.1:8000",
            token: Token = "",
            as_json: AsJson = False,
        ) -> None:
            with connect(url, token) as client:
                found = client.call(method, f"/competitions/{find_slug(client, competition)}/{what}")
            say(found, tell(found), as_json=as_json)

        command.__doc__ = tell.__doc__
        host.command(tell.__name__)(command)
        return tell

    return decorate


@_asking("POST", "invites")
def invite(made: Any) -> Iterable[str]:  # noqa: ANN401
    """Create an invite for one team; it is shown only once.

    Example: tacit scores host invite --competition titanic
    """
    return [made["invite"]]


@_asking("GET", "teams")
def teams(found: Any) -> Iterable[str]:  # noqa: ANN401
    """List the teams.

    Example: tacit scores host teams --competition titanic
    """
    return (
        f"{team['name']}, joined {team['joined']}{'' if team['standing'] == 'active' else ', ' + team['standing']}"
        for team in found
    )


@_asking("GET", "flags")
def flags(found: Any) -> Iterable[str]:  # noqa: ANN401
    """Show submissions that look crafted, with the reason; they still count.

    Example: tacit scores host flags --competition titanic
    """
    lines = [f"{flag['team']}, submission {flag['number']}: {flag['reason']}" for flag in found]
    return lines or ["No submission looks crafted."]


@_asking("GET", "spend")
def spend(found: Any) -> Iterable[str]:  # noqa: ANN401
    """Show what the labels have spent in the privacy ledger.

    Example: tacit scores host spend --competition titanic
    """
    from tacit.privacy.ledger.records import format_down, format_share
    from tacit.privacy.rounding import format_up

    shown = f"{found['scores']:,} scores shown"
    if found["data_set"] is None:
        return [f"{shown}; {found['guarantee']}."]
    used = format_share(found["used"]) if found["spent"] is None else f"Epsilon {format_up(found['spent'])}"
    return [
        f"{used} of {format_down(found['budget'])} spent, "
        f"{format_down(found['left'])} left; {shown}, each with {found['guarantee']}."
    ]


@host.command()
def final(
    competition: Competition = None,
    yes: Yes = False,
    url: Url = "http://127.0.0.1:8000",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Close the competition and release the final ranking, once; later calls print the same ranking.

    Each team's last submission gets one score on the rows that no live score has used. A competition with a closing
    date is finished after it.

    Example: tacit scores host final --competition titanic --yes
    """
    with connect(url, token) as client:
        slug = find_slug(client, competition)
        if not client.call("GET", f"/competitions/{slug}")["finished"]:
            confirm(f"The competition {slug} ends now, and its final ranking is released", yes=yes)
        found = client.call("POST", f"/competitions/{slug}/final")
    lines = [
        f"{place['rank']}. {place['team']}: {place['text']} (live: {place['public_rank'] or 'none'})" for place in found
    ]
    say(found, lines or ["No team has submitted."], as_json=as_json)


@host.command()
def team(
    name: Annotated[str, typer.Argument(help="The team's name.")],
    standing: Annotated[
        str,
        typer.Option(
            metavar="active|frozen|disqualified|removed",
            help="active: may submit; frozen: may not; disqualified: nor is it ranked; removed: nor may it sign in.",
        ),
    ],
    reason: Annotated[str, typer.Option(help="The reason, one line for the record.")] = "",
    competition: Competition = None,
    url: Url = "http://127.0.0.1:8000",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Freeze, disqualify, remove or reinstate a team; its scores stay charged, and its place is not freed.

    Example: tacit scores host team Newcomers --standing frozen --reason "crafted submissions"
    """
    with connect(url, token) as client:
        slug = find_slug(client, competition)
        sent = {"standing": standing, "reason": reason}
        found = client.call("POST", f"/competitions/{slug}/teams/{name}/standing", sent)
    say(found, [f"{found['name']} is {found['standing']}."], as_json=as_json)


@host.command()
def reissue(
    name: Annotated[str, typer.Argument(help="The team's name.")],
    competition: Competition = None,
    yes: Yes = False,
    url: Url = "http://127.0.0.1:8000",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Create another token for a team and print it once; the earlier one and its sessions are void.

    Example: tacit scores host reissue Newcomers --competition titanic --yes
    """
    with connect(url, token) as client:
        confirm(f"The present token of {name} and its sessions become void", yes=yes)
        found = client.call("POST", f"/competitions/{find_slug(client, competition)}/teams/{name}/token")
    say(found, [found["token"]], as_json=as_json)


@host.command()
def edit(
    name: Annotated[str | None, typer.Option(help="The name that everybody sees.")] = None,
    description: Annotated[str | None, typer.Option(help="Plain text for the teams.")] = None,
    opens: Annotated[datetime | None, typer.Option(help="First moment for submissions, in UTC.")] = None,
    closes: Annotated[datetime | None, typer.Option(help="Last moment for submissions, in UTC.")] = None,
    competition: Competition = None,
    url: Url = "http://127.0.0.1:8000",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Change a competition's texts and dates; the rules of its scores never change.

    Example: tacit scores host edit --closes 2026-12-31 --competition titanic
    """
    given = {"name": name, "description": description, "opens": _moment(opens), "closes": _moment(closes)}
    with connect(url, token) as client:
        sent = {key: value for key, value in given.items() if value is not None}
        found = client.call("PATCH", f"/competitions/{find_slug(client, competition)}", sent)
    say(found, [f"{found['name']} was changed."], as_json=as_json)


@host.command()
def revoke(
    competition: Competition = None,
    yes: Yes = False,
    url: Url = "http://127.0.0.1:8000",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Revoke all invites that no team has used.

    Example: tacit scores host revoke --competition titanic --yes
    """
    with connect(url, token) as client:
        slug = find_slug(client, competition)
        confirm(f"Nobody can join {slug} with the unused invites any more", yes=yes)
        found = client.call("DELETE", f"/competitions/{slug}/invites")
    say(found, [f"{found['revoked']} unused invites are void."], as_json=as_json)


@_asking("GET", "actions")
def actions(found: Any) -> Iterable[str]:  # noqa: ANN401
    """List what the host and the organizers did, newest first.

    Example: tacit scores host actions --competition titanic
    """
    lines = [
        f"{one['time']} {one['who']}: {', '.join(filter(None, (one['what'], one['whom'])))}"
        f"{one['reason'] and ' (' + one['reason'] + ')'}"
        for one in found
    ]
    return lines or ["Nothing yet."]


def say(found: Any, lines: Iterable[str], *, as_json: bool) -> None:  # noqa: ANN401
    """Print an answer for programs, or as lines for people."""
    if as_json:
        print_json(found)
    else:
        for line in lines:
            typer.echo(line)


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else moment.replace(tzinfo=UTC).isoformat()


def _text(path: str) -> str:
    from tacit.privacy.errors import InvalidInput

    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput(
            f"{path} must be a CSV file in UTF-8, got other bytes; save it again in that encoding"
        ) from None
