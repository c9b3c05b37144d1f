"""``tacit serve``: the scoring server, with a demo competition if there is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.server.upkeep import DatabaseUrl, backup, check, restore, rotate

__all__ = ["app"]

app = typer.Typer(no_args_is_help=False, invoke_without_command=True)
for _command in (backup, restore, check, rotate):
    app.command()(_command)


@app.callback(invoke_without_command=True)
def serve(
    context: typer.Context,
    folder: Annotated[
        Path,
        typer.Option(help="The folder of the database, the ledger and the key of the labels; created with mode 0700."),
    ] = Path("tacit-server"),
    database: DatabaseUrl = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on. 127.0.0.1: this machine only; put others behind HTTPS.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0: any free port.", min=0, max=65535)] = 8000,
    demo: Annotated[bool, typer.Option(help="Create the Titanic demo if there is no competition yet.")] = True,
    new_admin_token: Annotated[
        bool, typer.Option("--new-admin-token", help="Create a new admin token, which voids the earlier one.")
    ] = False,
    secure_cookies: Annotated[
        bool,
        typer.Option("--secure-cookies", help="Send cookies over HTTPS only; use it for every server behind HTTPS."),
    ] = False,
    rate: Annotated[
        int, typer.Option(help="Requests per minute with one token, and from one address without a known token.", min=1)
    ] = 120,
    max_body: Annotated[
        int, typer.Option(metavar="MIB", help="The largest file that a team or the host may send, in MiB.", min=1)
    ] = 64,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(metavar="ADDRESS", help="A proxy whose X-Forwarded-For names the caller; repeatable."),
    ] = None,
    access_log: Annotated[
        bool,
        typer.Option("--access-log", help="Write one line of JSON per request to standard error, without secrets."),
    ] = False,
    metrics_token: Annotated[
        str | None,
        typer.Option(
            envvar="TACIT_METRICS_TOKEN",
            help="A token that reads /api/v1/metrics and nothing else; prefer the environment variable.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print address and token as one line of JSON.")] = False,
) -> None:
    """Start the scoring server: pages, JSON API, and a leaderboard that does not leak its labels.

    The first start prints the admin token, once; the host uses it to sign in on the pages and for tacit scores host.
    By default it starts a demo competition on Titanic. Stop it with Ctrl-C or SIGTERM; everything acknowledged is on
    disk. Behind a proxy name its address, or all callers count as one.

    Example: tacit serve --folder competition --port 8000 --secure-cookies --trusted-proxy 127.0.0.1
    """
    if context.invoked_subcommand is not None:
        return
    from tacit.privacy.errors import InvalidInput
    from tacit.privacy.extras import load_extra

    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"must be a folder, {folder} is a file", field="folder")
    for package in ("cryptography", "fastapi", "python_multipart", "uvicorn"):
        load_extra(package, extra="server")
    from tacit.server import RequestRate, ScoringEngine, ServerLimits, ServerSettings
    from tacit.server.demo import offer_titanic
    from tacit.server.log import write_log

    each = RequestRate(per_minute=rate, burst=max(1, rate // 2))
    settings = ServerSettings(
        folder=folder,
        database=database,
        limits=ServerLimits(body=max_body * 2**20, token_rate=each, address_rate=each),
        secure_cookies=secure_cookies,
        trusted_proxies=_addresses(trusted_proxy or []),
        metrics_token=_secret(metrics_token),
    )
    engine = ScoringEngine.open(settings)
    try:
        if demo:
            offer_titanic(engine)
        token = engine.new_admin_token() if new_admin_token else engine.first_admin_token()
        if access_log:
            write_log()
        _run(engine, host=host, port=port, token=token, as_json=as_json)
    finally:
        engine.close()


def _addresses(given: list[str]) -> tuple[str, ...]:
    """Return the addresses of proxies, or raise where one is a name or a network."""
    import ipaddress

    from tacit.privacy.errors import InvalidInput

    for one in given:
        try:
            ipaddress.ip_address(one)
        except ValueError:
            raise InvalidInput(f"must be an IP address such as 10.0.0.5, got {one!r}", field="trusted_proxy") from None
    return tuple(given)


def _secret(given: str | None) -> str | None:
    """Return the token for metrics, or raise where it can be guessed."""
    from tacit.privacy.errors import InvalidInput

    if given and len(given) < 16:
        raise InvalidInput("must have 16 characters or more", field="metrics_token")
    return given or None


def _allow_connections() -> None:
    """Raise the limit of open files to what this user may have, because each connection is one."""
    import contextlib
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 8_192 if most == resource.RLIM_INFINITY else min(8_192, most)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _run(engine: object, *, host: str, port: int, token: str | None, as_json: bool) -> None:
    """Listen, print the address, and serve until asked to stop."""
    import contextlib
    import logging
    import signal
    import socket

    from tacit.privacy.errors import InvalidInput
    from tacit.server import ScoringEngine
    from tacit.server.app import configured, create_app

    assert isinstance(engine, ScoringEngine)
    _allow_connections()
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(1024)  # from now on connections wait for the server instead of being refused
    except OSError as error:
        raise InvalidInput(f"port {port} of {host} cannot be used: {error.strerror}; choose another --port") from None
    shown = f"[{host}]" if ":" in host else host
    _say(f"http://{shown}:{listening.getsockname()[1]}", engine, token, as_json=as_json)
    logging.basicConfig(level=logging.WARNING)
    # uvicorn finishes what is under way and then sends itself the signal again, which would skip the engine's end
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            configured(create_app(engine)).run(sockets=[listening])
    finally:
        listening.close()


def _say(url: str, engine: object, token: str | None, *, as_json: bool) -> None:
    from tacit.server import ScoringEngine

    assert isinstance(engine, ScoringEngine)
    slugs = [competition.slug for competition in engine.competitions()]
    if as_json:
        typer.echo(json.dumps({"url": url, "token": token, "competitions": slugs}))
    else:
        typer.echo(f"Serving {', '.join(slugs) or 'no competition yet'} at {url}")
        if token is not None:
            typer.echo(f"Admin token, shown only once: {token}")
            typer.echo(f"Sign in at {url}/sign-in, or: export TACIT_URL={url} TACIT_TOKEN={token}")
        else:
            typer.echo("The admin token was shown at the first start; --new-admin-token makes another one.")
    import sys

    sys.stdout.flush()
