"""What a host does to a running competition: its teams, its invites, its dates and texts; all of it is recorded."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, delete, insert, select, update

from tacit.privacy.errors import InvalidInput
from tacit.server.competition import find
from tacit.server.errors import Conflict
from tacit.server.records import HostAction, Standing, Team
from tacit.server.schema import ACTION, COMPETITION, INVITE, SESSION, TEAM
from tacit.server.terms import check_dates, check_description, check_line

__all__ = [
    "CompetitionChange",
    "actions",
    "change_competition",
    "change_token",
    "revoke_invites",
    "set_standing",
]

_NAME, _REASON = 200, 500


@dataclass(frozen=True, slots=True, kw_only=True)
class CompetitionChange:
    """New texts and dates of a competition; None leaves one as it is."""

    name: str | None = None
    description: str | None = None
    opens: datetime | None = None
    closes: datetime | None = None

    def __post_init__(self) -> None:
        if self.name is not None:
            check_line(self.name, name="name", longest=_NAME)
        if self.description is not None:
            check_description(self.description)

    @property
    def given(self) -> dict[str, Any]:
        """What is to be changed, as it is stored."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {
            name: value.isoformat() if isinstance(value, datetime) else value
            for name, value in values.items()
            if value is not None
        }


def change_competition(connection: Connection, slug: str, change: CompetitionChange, *, now: str) -> None:
    """Store new texts and dates; what a competition releases never changes."""
    competition = find(connection, slug, lock=True)
    if not change.given:
        raise InvalidInput("must change a name, a description or a date, got nothing", field="change")
    if competition["finished"] is not None and {"opens", "closes"} & set(change.given):
        raise Conflict("the final ranking was released: the competition's dates cannot be changed")
    dates = {name: change.given.get(name, competition[name]) for name in ("opens", "closes")}
    check_dates(*(None if moment is None else datetime.fromisoformat(moment) for moment in dates.values()))
    connection.execute(update(COMPETITION).where(COMPETITION.c.id == competition["id"]).values(**change.given))
    _record(connection, competition, "edit", ", ".join(sorted(change.given)), now=now)


def set_standing(connection: Connection, team: Team, standing: Standing, *, reason: str, now: str) -> None:
    """Freeze, disqualify, remove or reinstate a team; what it was charged and told stays spent."""
    competition = find(connection, team.competition, lock=True)
    if reason:
        check_line(reason, name="reason", longest=_REASON)
    connection.execute(update(TEAM).where(TEAM.c.id == team.id).values(standing=standing))
    if standing == "removed":
        connection.execute(delete(SESSION).where(SESSION.c.team == team.id))
    _record(connection, competition, standing, team.name, reason=reason, now=now)


def change_token(connection: Connection, team: Team, digest: bytes, *, now: str) -> None:
    """Give a team another token; the earlier one and all its sessions are void."""
    competition = find(connection, team.competition, lock=True)
    connection.execute(update(TEAM).where(TEAM.c.id == team.id).values(token=digest))
    connection.execute(delete(SESSION).where(SESSION.c.team == team.id))
    _record(connection, competition, "token", team.name, now=now)


def revoke_invites(connection: Connection, slug: str, *, now: str) -> int:
    """Make all invites void that no team has used; return how many there were."""
    competition = find(connection, slug, lock=True)
    used = select(TEAM.c.invite).where(TEAM.c.competition == competition["id"])
    unused = (INVITE.c.competition == competition["id"], INVITE.c.id.not_in(used))
    count = int(connection.execute(delete(INVITE).where(*unused)).rowcount)
    _record(connection, competition, "revoke", f"{count} invites", now=now)
    return count


def _record(
    connection: Connection, competition: RowMapping, what: str, whom: str, *, reason: str = "", now: str
) -> None:
    """Write one line of the record, inside the transaction of what it tells."""
    connection.execute(
        insert(ACTION).values(competition=competition["id"], time=now, what=what, whom=whom, reason=reason)
    )


def actions(connection: Connection, slug: str) -> tuple[HostAction, ...]:
    """Return the record, newest first."""
    competition = find(connection, slug)
    query = select(ACTION).where(ACTION.c.competition == competition["id"]).order_by(ACTION.c.id.desc())
    return tuple(
        HostAction(time=datetime.fromisoformat(row["time"]), what=row["what"], whom=row["whom"], reason=row["reason"])
        for row in connection.execute(query).mappings()
    )
