"""The server's address and the caller's token: options that the commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tacit.server.client import ServerClient

__all__ = ["Competition", "Token", "Url", "Yes", "confirm", "connect", "find_slug"]

Url = Annotated[str, typer.Option(envvar="TACIT_URL", help="The address of a scoring server.")]
Token = Annotated[
    str,
    typer.Option(
        envvar="TACIT_TOKEN",
        help="The token; prefer the environment variable, because others may see the command line.",
    ),
]
Competition = Annotated[
    str | None,
    typer.Option(metavar="SLUG", help="The competition's short name. Default: the server's only competition."),
]

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask before what cannot be undone.")]


def confirm(what: str, *, yes: bool) -> None:
    """Ask before what cannot be undone; where nobody can answer, --yes must be given."""
    import sys

    from tacit.privacy.errors import InvalidInput

    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidInput(f"must be given: {what[0].lower()}{what[1:]}, which cannot be undone", field="yes")
    typer.confirm(f"{what}. This cannot be undone. Go on?", abort=True, err=True)


def connect(url: str, token: str, *, patience: float = 0.0) -> ServerClient:
    """Return a client; the connection is made with the first request, and waiting is told on standard error."""
    from tacit.privacy.errors import InvalidInput
    from tacit.server.client import ServerClient

    if not token.strip():
        raise InvalidInput("must be given, with --token or in the environment variable TACIT_TOKEN", field="token")
    if not (token.strip().isascii() and token.strip().isprintable()):
        raise InvalidInput("must be as the server printed it: letters, digits, hyphens and underscores", field="token")
    return ServerClient(url=url, token=token.strip(), patience=patience, tell=lambda words: typer.echo(words, err=True))


def find_slug(client: ServerClient, slug: str | None) -> str:
    """Return the competition that is meant."""
    from tacit.privacy.errors import InvalidInput

    if slug is not None:
        return slug
    known = [str(one["slug"]) for one in client.call("GET", "/competitions")]
    if len(known) != 1:
        said = f"the server has {', '.join(known)}" if known else "the server has none"
        raise InvalidInput(f"competition must be given: {said}")
    return known[0]
