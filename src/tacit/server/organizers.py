"""Organizers: people whom the host lets run one competition, each with a token and a role."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, RowMapping, delete, insert, select

from tacit.server.competition import find
from tacit.server.errors import Conflict, NotFound
from tacit.server.names import read_alike
from tacit.server.records import Organizer, Role
from tacit.server.schema import COMPETITION, ORGANIZER, SESSION
from tacit.server.terms import check_line
from tacit.server.trail import Author, record

__all__ = ["ORGANIZERS", "add_organizer", "organizer_of", "organizers", "remove_organizer"]

_NAME = 80
_MOST = 100

ORGANIZERS = select(ORGANIZER, COMPETITION.c.slug).join(COMPETITION, ORGANIZER.c.competition == COMPETITION.c.id)
"""All organizers, with the slugs of their competitions."""


def organizer_of(row: RowMapping) -> Organizer:
    """Return an organizer from a row of :data:`ORGANIZERS`."""
    return Organizer(
        id=row["id"],
        competition=row["slug"],
        name=row["name"],
        role=row["role"],
        added=datetime.fromisoformat(row["added"]),
    )


def organizers(connection: Connection, slug: str) -> tuple[Organizer, ...]:
    """Return the organizers of a competition, first added first."""
    mine = ORGANIZERS.where(ORGANIZER.c.competition == find(connection, slug)["id"]).order_by(ORGANIZER.c.id)
    return tuple(map(organizer_of, connection.execute(mine).mappings()))


def add_organizer(
    connection: Connection, slug: str, *, name: str, role: Role, token: bytes, by: Author, now: str
) -> Organizer:
    """Store an organizer; nobody else of the competition has a name that reads alike."""
    check_line(name, name="name", longest=_NAME)
    competition = find(connection, slug, lock=True)
    known = organizers(connection, slug)
    if read_alike(name) in {read_alike(one.name) for one in known}:
        raise Conflict("another organizer has this name; choose another one")
    if len(known) >= _MOST:
        raise Conflict(f"a competition has at most {_MOST} organizers; remove one first")
    values = {"competition": competition["id"], "name": name, "role": role, "token": token, "added": now}
    connection.execute(insert(ORGANIZER).values(**values))
    record(connection, slug, "organizer", f"{name} ({role})", by=by, now=now)
    return organizer_of(connection.execute(ORGANIZERS.where(ORGANIZER.c.token == token)).mappings().one())


def remove_organizer(connection: Connection, slug: str, name: str, *, by: Author, now: str) -> None:
    """Make an organizer's token and sessions void."""
    find(connection, slug, lock=True)
    found = next((one for one in organizers(connection, slug) if one.name == name), None)
    if found is None:
        raise NotFound(f"there is no organizer {name[:80]!a} in {slug}")
    connection.execute(delete(SESSION).where(SESSION.c.organizer == found.id))
    connection.execute(delete(ORGANIZER).where(ORGANIZER.c.id == found.id))
    record(connection, slug, "organizer removed", found.title, by=by, now=now)
