"""``tacit scores host``: run a competition from the command line, with the admin token."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.scores.choices import choice_of
from tacit.cli.scores.connection import AsJson, Competition, Token, Url, connect, find_slug, print_json

__all__ = ["host"]

host = typer.Typer(
    no_args_is_help=True, help="Run competitions on a scoring server: create them, invite teams, see what happens."
)


@host.command()
def create(
    slug: Annotated[str, typer.Argument(help="Short name in addresses: small letters, digits and hyphens.")],
    features: Annotated[Path, typer.Option(help="A CSV file that everybody may read; a column id names the rows.")],
    labels: Annotated[Path, typer.Option(help="A CSV file that never leaves the server: id and label, or one column.")],
    name: Annotated[str | None, typer.Option(help="Name on the pages. Default: the short name.")] = None,
    description: Annotated[str, typer.Option(help="Plain text for the teams.")] = "",
    metric: Annotated[
        str,
        typer.Option(
            metavar="NAME[:KEY=VALUE,...]",
            help="log_loss (classes, floor), brier (classes), accuracy (classes), auc or f1 (classes, class_floor), "
            "rmse, mae.",
        ),
    ] = "log_loss:classes=2,floor=0.01",
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:KEY=VALUE,...]",
            help="laplace (epsilon), thresholdout (epsilon, threshold, refreshes), ladder (step), rounded (decimals) "
            "or exact. Default: laplace:epsilon=0.2.",
        ),
    ] = None,
    per_team: Annotated[int, typer.Option(help="Submissions of a team, in all.")] = 100,
    per_day: Annotated[int, typer.Option(help="Submissions of a team in a day; 0: no limit.", min=0)] = 10,
    public_fraction: Annotated[
        float,
        typer.Option(
            help="Share of rows behind the live scores; the others decide the final ranking, released once. "
            "1: all rows, and the leaderboard is final."
        ),
    ] = 0.3,
    final_policy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:KEY=VALUE,...]",
            help="How each team's one final score is released. Default: laplace:epsilon=5.",
        ),
    ] = None,
    most_teams: Annotated[int, typer.Option(help="Most teams; the ledger keeps epsilon for that many.")] = 20,
    opens: Annotated[datetime | None, typer.Option(help="First moment for submissions, in UTC.")] = None,
    closes: Annotated[datetime | None, typer.Option(help="Last moment for submissions, in UTC.")] = None,
    private: Annotated[bool, typer.Option("--private", help="Show the leaderboard to teams and host alone.")] = False,
    url: Url = "http://127.0.0.1:8000",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Create a competition from a file of features and a file of labels.

    Without more words the rules are the recommended ones: a team has 100 submissions, 10 a day; live scores use 30% of
    the rows, with noise, and are for a team's own bearings; the ranking that counts is made once, from each team's
    last submission on the other 70%, by tacit scores host final.

    Example: tacit scores host create flowers --features f.csv --labels y.csv --metric accuracy:classes=3
    """
    setting: dict[str, Any] = {
        "metric": choice_of(metric, kind="metric"),
        "budget": {"per_team": per_team, "per_day": per_day or None},
        "split": {"public_fraction": public_fraction},
    }
    for key, chosen in (("policy", policy), ("final_policy", final_policy)):
        if chosen is not None:
            setting[key] = choice_of(chosen, kind="policy")
    body = {
        "slug": slug,
        "name": name or slug,
        "description": description,
        "setting": setting,
        "opens": _moment(opens),
        "closes": _moment(closes),
        "most_teams": most_teams,
        "public": not private,
        "features": features.read_text(encoding="utf-8-sig"),
        "labels": labels.read_text(encoding="utf-8-sig"),
    }
    with connect(url, token) as client:
        made = client.call("POST", "/competitions", body)
    if as_json:
        print_json(made)
        return
    typer.echo(f"{made['name']}: {made['rows']:,} rows, {url.rstrip('/')}/c/{made['slug']}")
    for rule in made["rules"]:
        typer.echo(f"  {rule}")
    typer.echo(f"Next: tacit scores host invite --competition {slug}")


@host.command("list")
def list_competitions(url: Url = "http://127.0.0.1:8000", token: Token = "", as_json: AsJson = False) -> None:
    """List the server's competitions.

    Example: tacit scores host list
    """
    with connect(url, token) as client:
        found = client.call("GET", "/competitions")
    if as_json:
        print_json(found)
        return
    for one in found:
        typer.echo(f"{one['slug']}: {one['name']}, {one['rows']:,} rows, {one['teams']} of {one['most_teams']} teams")


@host.command()
def invite(
    competition: Competition = None, url: Url = "http://127.0.0.1:8000", token: Token = "", as_json: AsJson = False
) -> None:
    """Make an invite with which one team may join; it is printed this once.

    Example: tacit scores host invite --competition titanic
    """
    with connect(url, token) as client:
        made = client.call("POST", f"/competitions/{find_slug(client, competition)}/invites")
    if as_json:
        print_json(made)
        return
    typer.echo(made["invite"])


@host.command()
def teams(
    competition: Competition = None, url: Url = "http://127.0.0.1:8000", token: Token = "", as_json: AsJson = False
) -> None:
    """List the teams.

    Example: tacit scores host teams --competition titanic
    """
    found = _get("teams", competition, url, token)
    if as_json:
        print_json(found)
        return
    for team in found:
        typer.echo(f"{team['name']}, joined {team['joined']}")


@host.command()
def flags(
    competition: Competition = None, url: Url = "http://127.0.0.1:8000", token: Token = "", as_json: AsJson = False
) -> None:
    """Show submissions that look crafted, with the reason; they count all the same.

    Example: tacit scores host flags --competition titanic
    """
    found = _get("flags", competition, url, token)
    if as_json:
        print_json(found)
        return
    for flag in found:
        typer.echo(f"{flag['team']}, submission {flag['number']}: {flag['reason']}")
    if not found:
        typer.echo("No submission looks crafted.")


@host.command()
def spend(
    competition: Competition = None, url: Url = "http://127.0.0.1:8000", token: Token = "", as_json: AsJson = False
) -> None:
    """Show what the labels have spent in the privacy ledger.

    Example: tacit scores host spend --competition titanic
    """
    found = _get("spend", competition, url, token)
    if as_json:
        print_json(found)
        return
    if found["data_set"] is None:
        typer.echo(f"{found['scores']:,} scores shown; {found['promise']}.")
        return
    typer.echo(
        f"Epsilon {found['spent']:.4g} of {found['budget']:.4g} spent, {found['left']:.4g} left; "
        f"{found['scores']:,} scores shown, each with {found['promise']}."
    )


@host.command()
def final(
    competition: Competition = None, url: Url = "http://127.0.0.1:8000", token: Token = "", as_json: AsJson = False
) -> None:
    """Close the competition and release the final ranking, once; afterwards print the same.

    Each team's last submission gets one score on the rows that no live score has used. A competition with a closing
    date is finished after it.

    Example: tacit scores host final --competition titanic
    """
    with connect(url, token) as client:
        found = client.call("POST", f"/competitions/{find_slug(client, competition)}/final")
    if as_json:
        print_json(found)
        return
    for place in found:
        typer.echo(f"{place['rank']}. {place['team']}: {place['text']} (live: {place['public_rank']})")
    if not found:
        typer.echo("No team has submitted.")


def _get(what: str, competition: str | None, url: str, token: str) -> Any:  # noqa: ANN401
    with connect(url, token) as client:
        return client.call("GET", f"/competitions/{find_slug(client, competition)}/{what}")


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else moment.replace(tzinfo=UTC).isoformat()
