"""The trail: who did what to a competition, when and why; it stays when the competition is deleted."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, insert, select

from tacit.server.records import Host, HostAction, Organizer
from tacit.server.schema import TRAIL

__all__ = ["Author", "actions", "record"]

Author = Host | Organizer


def record(
    connection: Connection, slug: str, what: str, whom: str = "", *, by: Author | None, reason: str = "", now: str
) -> None:
    """Write one line, inside the transaction of what it tells; no author means the operator, on the machine."""
    who = "operator" if by is None else by.title
    connection.execute(insert(TRAIL).values(slug=slug, time=now, who=who, what=what, whom=whom, reason=reason))


def actions(connection: Connection, slug: str | None = None) -> tuple[HostAction, ...]:
    """Return the trail of a competition, or of the whole server, newest first."""
    query = select(TRAIL).order_by(TRAIL.c.id.desc())
    if slug is not None:
        query = query.where(TRAIL.c.slug == slug)
    return tuple(
        HostAction(
            competition=row["slug"],
            time=datetime.fromisoformat(row["time"]),
            who=row["who"],
            what=row["what"],
            whom=row["whom"],
            reason=row["reason"],
        )
        for row in connection.execute(query).mappings()
    )
