"""Rotating the server's key: what is under the old key is sealed under a new one, in one transaction per database."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection, bindparam, select, update

from tacit.privacy.errors import InvalidInput, TacitError
from tacit.privacy.files import sync_folder
from tacit.privacy.ledger import Ledger
from tacit.server.competition import labels_place
from tacit.server.database import ServerDatabase
from tacit.server.key import VARIABLE, ServerKey
from tacit.server.schema import COMPETITION, FILE, SERVER, TEAM
from tacit.server.settings import ServerSettings
from tacit.server.submission import state_place

__all__ = ["NEW_VARIABLE", "rotate_key"]

NEW_VARIABLE = "TACIT_SERVER_NEW_KEY"
"""The environment variable with the new key of a server whose key is in the environment."""

_PLACE = "this server"


def rotate_key(settings: ServerSettings) -> Path | None:
    """Seal everything under a new key; return the file that has it, or None where it is in the environment.

    The new key is written beside the old one first, and takes its name last. Whoever is killed between can run this
    again: what has the new key already keeps it. Servers that still run write nothing more, because each write checks
    the key. Backups open with the key they were made under.
    """
    database = ServerDatabase.at(settings.database_location)
    try:
        if not ServerKey.exists(settings.key_location) or not database.exists():
            raise InvalidInput(f"must be the folder of a server with its key, got {settings.folder}", field="folder")
        database.prepare()
        old, new, file = _keys(settings)
        with database.founding() as connection:
            _reseal_database(connection, old, new)
        if settings.ledger is None:
            Ledger.reseal(settings.ledger_location, old=old, new=new)
        if database.file is not None:
            _empty_log(database.file)
        if file is not None:
            os.replace(file, settings.key_location)
            sync_folder(settings.key_location.parent)
        return None if file is None else settings.key_location
    finally:
        database.close()


def _keys(settings: ServerSettings) -> tuple[ServerKey, ServerKey, Path | None]:
    """Return the old key, the new one, and the file in which the new one waits."""
    old = ServerKey.find(settings.key_location)
    if VARIABLE in os.environ:
        new = ServerKey.told(NEW_VARIABLE)
        if new is None:
            raise InvalidInput(f"environment variable {NEW_VARIABLE} must have the new key, 32 bytes in base64")
        if new == old:
            raise InvalidInput(f"environment variables {VARIABLE} and {NEW_VARIABLE} must have different keys")
        return old, new, None
    waiting = settings.next_key_location
    return old, ServerKey.find_file(waiting), waiting


def _reseal_database(connection: Connection, old: ServerKey, new: ServerKey) -> None:
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("PRAGMA secure_delete=ON")  # what the old key opens is overwritten
    check = bytes(connection.execute(select(SERVER.c.key_check).with_for_update()).scalar_one())
    if _opens(new, check, place=_PLACE):
        return  # an earlier try came this far
    connection.execute(update(SERVER).values(key_check=_again(check, old, new, place=_PLACE)))
    labels = select(FILE, COMPETITION.c.slug).join(COMPETITION, FILE.c.competition == COMPETITION.c.id)
    for row in connection.execute(labels.where(FILE.c.kind == "labels")).mappings().all():
        mine = (FILE.c.competition == row["competition"], FILE.c.kind == "labels")
        sealed = _again(bytes(row["content"]), old, new, place=labels_place(row["slug"]))
        connection.execute(update(FILE).where(*mine).values(content=sealed))
    teams = connection.execute(select(TEAM.c.id, TEAM.c.invite, TEAM.c.state).with_for_update()).all()
    if teams:
        change = update(TEAM).where(TEAM.c.id == bindparam("which")).values(state=bindparam("sealed"))
        sealed_states = (_again(bytes(state), old, new, place=state_place(invite)) for _, invite, state in teams)
        connection.execute(
            change, [{"which": one[0], "sealed": s} for one, s in zip(teams, sealed_states, strict=True)]
        )


def _again(sealed: bytes, old: ServerKey, new: ServerKey, *, place: str) -> bytes:
    return new.seal(old.open(sealed, place=place), place=place)


def _opens(key: ServerKey, sealed: bytes, *, place: str) -> bool:
    try:
        key.open(sealed, place=place)
    except TacitError:
        return False
    return True


def _empty_log(file: Path) -> None:
    """Merge the write-ahead log, which has pages under the old key; a server that still reads may keep some."""
    with closing(sqlite3.connect(file, timeout=5)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
