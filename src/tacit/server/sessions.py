"""Sessions of the pages: what a browser keeps instead of a token; they expire, and end when the visitor signs out."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, delete, insert, select

from tacit.server.joining import TEAMS, team_of
from tacit.server.organizers import ORGANIZERS, organizer_of
from tacit.server.records import AnonymousCaller, Host, Identity, Organizer, Team
from tacit.server.schema import ORGANIZER, SESSION, TEAM
from tacit.server.tokens import hash_token, new_token

__all__ = ["end_host_sessions", "end_session", "session_owner", "start_session"]


def start_session(connection: Connection, who: Host | Organizer | Team, *, now: datetime) -> str:
    """Return a new session's secret, which is kept as a hash alone; sessions that have expired are forgotten."""
    connection.execute(delete(SESSION).where(SESSION.c.expires <= now.isoformat()))
    secret = new_token("session")
    connection.execute(
        insert(SESSION).values(
            secret=hash_token(secret),
            team=who.id if isinstance(who, Team) else None,
            organizer=who.id if isinstance(who, Organizer) else None,
            expires=(now + who.session_lasts).isoformat(),
        )
    )
    return secret


def session_owner(connection: Connection, secret: str, *, now: datetime) -> Identity:
    """Return who signed in, as long as the session lasts."""
    known = select(SESSION).where(SESSION.c.secret == hash_token(secret), SESSION.c.expires > now.isoformat())
    found = connection.execute(known).mappings().first()
    if found is None:
        return AnonymousCaller()
    if found["team"] is not None:
        return team_of(connection.execute(TEAMS.where(TEAM.c.id == found["team"])).mappings().one())
    if found["organizer"] is not None:
        mine = ORGANIZERS.where(ORGANIZER.c.id == found["organizer"])
        return organizer_of(connection.execute(mine).mappings().one())
    return Host()


def end_session(connection: Connection, secret: str) -> None:
    """Forget a session."""
    connection.execute(delete(SESSION).where(SESSION.c.secret == hash_token(secret)))


def end_host_sessions(connection: Connection) -> None:
    """Forget all sessions of the host, because the admin token that started them is void."""
    connection.execute(delete(SESSION).where(SESSION.c.team.is_(None), SESSION.c.organizer.is_(None)))
