"""The upkeep of a server's data: a copy made while it runs, the copy put back, and whether all of it agrees."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection, func, select

from tacit.privacy.errors import InvalidInput, LedgerError, TacitError
from tacit.server.accounts import LedgerAccounts
from tacit.server.competition import labels_place
from tacit.server.database import ServerDatabase
from tacit.server.key import ServerKey
from tacit.server.schema import COMPETITION, DELETED, FILE, SUBMISSION, TEAM
from tacit.server.settings import ServerSettings

__all__ = ["back_up", "check_file", "disagreements", "problems", "restore", "unreadable"]

_FILES = ("server.db", "ledger.db")
"""The database first: a team is charged before it is stored, so a ledger copied later has every charge."""


def back_up(settings: ServerSettings, target: Path) -> tuple[Path, ...]:
    """Copy database and ledger of a server, which may be running, into a new folder; the key is not copied.

    Each file is one state of its database (SQLite's online backup), also while others write; a plain copy of the files
    of a running server may lack its last commits.
    """
    _check_files(settings)
    target.mkdir(mode=0o700, parents=True)
    return tuple(_copy(settings.folder / name, target / name) for name in _FILES)


def restore(source: Path, settings: ServerSettings) -> tuple[Path, ...]:
    """Put a copy back into a folder that has no database yet."""
    for name in _FILES:
        if not (source / name).is_file():
            raise InvalidInput(f"must be a folder that tacit serve backup made, {name} is missing", field="backup")
        if os.path.lexists(settings.folder / name):
            raise InvalidInput(
                f"must have no {name}, got {settings.folder}; restore into another folder", field="folder"
            )
    settings.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return tuple(_copy(source / name, settings.folder / name) for name in _FILES)


def disagreements(connection: Connection, accounts: LedgerAccounts) -> Iterator[str]:
    """Yield what the database says and the ledger does not, or the other way round; one sentence each."""
    named = {row["data_set"]: row for row in connection.execute(select(COMPETITION)).mappings() if row["data_set"]}
    for data_set, row in named.items():
        try:
            charged = set(accounts.standing(data_set).values())
        except LedgerError:
            yield f"the ledger does not know {data_set}, the labels of {row['slug']}"
            continue
        teams = connection.execute(select(TEAM.c.name, TEAM.c.entry).where(TEAM.c.competition == row["id"])).mappings()
        for team in teams:
            if team["entry"] is not None and team["entry"] not in charged:
                yield f"the ledger has no charge for the team {team['name']!a} of {row['slug']} ({team['entry']})"
    deleted = set(connection.execute(select(DELETED.c.data_set)).scalars())
    for data_set in accounts.charged():
        if accounts.own and data_set not in named and data_set not in deleted:
            yield f"the ledger has charges for {data_set}, and the database has no such competition"


def unreadable(connection: Connection, key: ServerKey) -> Iterator[str]:
    """Yield which labels do not open with the key, and which teams' counts do not fit their submissions."""
    labels = select(COMPETITION.c.slug, FILE.c.content).join(FILE, FILE.c.competition == COMPETITION.c.id)
    for row in connection.execute(labels.where(FILE.c.kind == "labels")).mappings():
        try:
            key.open(bytes(row["content"]), place=labels_place(row["slug"]))
        except TacitError as error:
            yield str(error)
    made = select(func.count()).where(SUBMISSION.c.team == TEAM.c.id).scalar_subquery()
    for row in connection.execute(select(TEAM.c.name, TEAM.c.used).where(TEAM.c.used != made)).mappings():
        yield f"the team {row['name']!a} has used {row['used']} submissions, and another number is stored"


def problems(settings: ServerSettings) -> list[str]:
    """Return all that is wrong with a server's data, one sentence each; nothing is changed."""
    if settings.database is None:
        _check_files(settings)
        if damaged := [told for name in _FILES for told in check_file(settings.folder / name)]:
            return damaged
    if not ServerKey.exists(settings.key_location):
        if settings.database is not None:
            raise InvalidInput(f"must hold the server's key, there is no {settings.key_location}", field="folder")
        return [f"the key file {settings.key_location} is missing: nothing opens without it"]
    key = ServerKey.find(settings.key_location)
    database = ServerDatabase.at(settings.database_location)
    try:
        accounts = LedgerAccounts(settings.ledger_location, key=key)
        with database.reading() as connection:
            if database.revision(connection) != database.schema.head:
                return ["the database is of an earlier version; start the server once to bring it up to date"]
            return [*unreadable(connection, key), *disagreements(connection, accounts)]
    except TacitError as error:
        return [str(error)]
    finally:
        database.close()


def check_file(file: Path) -> Iterator[str]:
    """Yield what SQLite finds wrong with a file."""
    try:
        with closing(_open(file)) as connection:
            verdicts = connection.execute("PRAGMA integrity_check(3)").fetchall()
    except sqlite3.DatabaseError as error:
        verdicts = [(str(error),)]
    yield from (f"{file.name} is damaged: {verdict}" for (verdict,) in verdicts if verdict != "ok")


def _check_files(settings: ServerSettings) -> None:
    if settings.database is not None or settings.ledger is not None:
        raise InvalidInput(
            "must be left out: a PostgreSQL database holds the ledger too, and pg_dump copies both as one state",
            field="database",
        )
    for name in _FILES:
        if not (settings.folder / name).is_file():
            raise InvalidInput(f"must be the folder of a server, {settings.folder} has no {name}", field="folder")


def _copy(source: Path, target: Path) -> Path:
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    with closing(_open(source)) as one, closing(sqlite3.connect(target)) as other:
        one.backup(other)
        other.execute("PRAGMA journal_mode=DELETE")  # the copy is one file
    return target


def _open(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=60)
