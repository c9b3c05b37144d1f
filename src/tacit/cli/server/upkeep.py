"""``tacit serve backup``, ``restore`` and ``check``: copies of a server's data, and whether they agree."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.options import AsJson, print_json

if TYPE_CHECKING:
    from tacit.server import ServerSettings

__all__ = ["DatabaseUrl", "backup", "check", "restore", "rotate"]

Folder = Annotated[Path, typer.Option(help="The folder of the server.")]
Backup = Annotated[Path, typer.Argument(metavar="BACKUP", help="The folder of the copy.")]
DatabaseUrl = Annotated[
    str | None,
    typer.Option(metavar="URL", help="A postgresql:// URL, or a SQLite file. Default: server.db in the folder."),
]

_HERE = Path("tacit-server")


def backup(target: Backup, folder: Folder = _HERE, as_json: AsJson = False) -> None:
    """Copy database and ledger of a server, also while it runs, into a new folder; the key is not copied.

    Keep the file labels.key in another place: without it the copy reveals no label, and cannot be restored.

    Example: tacit serve backup monday --folder competition
    """
    from tacit.privacy.errors import InvalidInput
    from tacit.server.upkeep import back_up

    if target.exists():
        raise InvalidInput(f"must be a folder that does not exist yet, got {target}", field="backup")
    _say([str(file) for file in back_up(_settings(folder), target)], as_json=as_json)


def restore(source: Backup, folder: Folder = _HERE, as_json: AsJson = False) -> None:
    """Put a copy of a server's data back into a folder without a database, which may have the key already.

    Scores that were shown after the copy was made are not in it: the ledger no longer counts them, and the same
    submission gets new noise. Then put labels.key into the folder, and run tacit serve check.

    Example: tacit serve restore monday --folder again
    """
    from tacit.server.upkeep import restore as put_back

    _say([str(file) for file in put_back(source, _settings(folder))], as_json=as_json)


def check(folder: Folder = _HERE, database: DatabaseUrl = None, as_json: AsJson = False) -> None:
    """Check a server's data: files, labels under the key, counts, and that database and ledger agree.

    Exit code 0: all is well. 1: something is wrong, and each line says what.

    Example: tacit serve check --folder competition
    """
    from tacit.server.upkeep import problems

    found = problems(_settings(folder, database))
    if as_json:
        print_json({"problems": found})
    else:
        typer.echo("\n".join(found) or "Database, ledger and key agree.")
    raise typer.Exit(1 if found else 0)


def rotate(folder: Folder = _HERE, database: DatabaseUrl = None, as_json: AsJson = False) -> None:
    """Make a new key, and seal labels, teams' states and the ledger's secret under it; stop the server before.

    The file labels.key is replaced last, so an interrupted rotation can be run again. A key in TACIT_SERVER_KEY is
    replaced by the one in TACIT_SERVER_NEW_KEY. Backups open with the key they were made under: keep it with them.

    Example: tacit serve rotate --folder competition
    """
    from tacit.server.rotation import rotate_key

    file = rotate_key(_settings(folder, database))
    told = "Everything is under the new key: start the server again"
    if as_json:
        print_json({"key": None if file is None else str(file)})
    else:
        typer.echo(f"{told}, with TACIT_SERVER_NEW_KEY as TACIT_SERVER_KEY." if file is None else f"{told}.")


def _settings(folder: Path, database: str | None = None) -> ServerSettings:
    from tacit.server import ServerSettings

    return ServerSettings(folder=folder, database=database)


def _say(files: list[str], *, as_json: bool) -> None:
    if as_json:
        print_json({"files": files})
    else:
        typer.echo("\n".join(files))
