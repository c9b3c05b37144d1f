"""What a host does to a running competition: its teams, invites, dates, texts and state; all of it is recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, delete, select, update

from tacit.privacy.errors import InvalidInput
from tacit.server.competition import find
from tacit.server.errors import Conflict
from tacit.server.records import Standing, Team
from tacit.server.schema import COMPETITION, INVITE, SESSION, TEAM
from tacit.server.terms import check_dates, check_description, check_line
from tacit.server.trail import Author, record

__all__ = [
    "CompetitionChange",
    "CompetitionState",
    "change_competition",
    "change_token",
    "revoke_invites",
    "set_standing",
    "set_state",
]

_NAME, _REASON = 200, 500

CompetitionState = Literal["open", "closed", "archived"]
"""Whether submissions are taken between the dates (open), no more (closed), or it is left out of lists too."""


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


def change_competition(connection: Connection, slug: str, change: CompetitionChange, *, by: Author, now: str) -> None:
    """Store new texts and dates; what a competition releases never changes."""
    competition = find(connection, slug, lock=True)
    if not change.given:
        raise InvalidInput("must change a name, a description or a date, got nothing", field="change")
    if {"opens", "closes"} & set(change.given):
        if competition["finished"] is not None:
            raise Conflict("the final ranking was released: the competition's dates cannot be changed")
        if competition["archived"] is not None:
            raise Conflict("the competition is archived: reopen it, and then change its dates")
    dates = {name: change.given.get(name, competition[name]) for name in ("opens", "closes")}
    check_dates(*(None if moment is None else datetime.fromisoformat(moment) for moment in dates.values()))
    connection.execute(update(COMPETITION).where(COMPETITION.c.id == competition["id"]).values(**change.given))
    record(connection, slug, "edit", ", ".join(sorted(change.given)), by=by, now=now)


def set_state(
    connection: Connection,
    slug: str,
    state: CompetitionState,
    *,
    closes: datetime | None,
    reason: str,
    by: Author,
    now: datetime,
) -> None:
    """Close, reopen or archive a competition; a finished one is not reopened, because its private rows were scored."""
    competition = find(connection, slug, lock=True)
    if reason:
        check_line(reason, name="reason", longest=_REASON)
    values = _as_open(competition, closes, now) if state == "open" else _as_closed(competition, now)
    values["archived"] = now.isoformat() if state == "archived" else None
    connection.execute(update(COMPETITION).where(COMPETITION.c.id == competition["id"]).values(**values))
    record(connection, slug, state, by=by, reason=reason, now=now.isoformat())


def _as_open(competition: Mapping[Any, Any], closes: datetime | None, now: datetime) -> dict[str, str | None]:
    if competition["finished"] is not None:
        raise Conflict("the final ranking was released: the competition cannot be reopened")
    opens = competition["opens"]
    check_dates(None if opens is None else datetime.fromisoformat(opens), closes)
    if closes is not None and closes <= now:
        raise InvalidInput(f"must be later than now ({now.isoformat()}), got {closes.isoformat()}", field="closes")
    return {"closes": None if closes is None else closes.isoformat()}


def _as_closed(competition: Mapping[Any, Any], now: datetime) -> dict[str, str | None]:
    """Return a closing date that is over, or that of the opening where that is still to come."""
    known = [competition[name] for name in ("opens", "closes")]
    opens, closes = (None if moment is None else datetime.fromisoformat(moment) for moment in known)
    latest = now if opens is None else max(now, opens)
    return {"closes": (latest if closes is None else min(closes, latest)).isoformat()}


def set_standing(connection: Connection, team: Team, standing: Standing, *, reason: str, by: Author, now: str) -> None:
    """Freeze, disqualify, remove or reinstate a team; what it was charged and told stays spent."""
    find(connection, team.competition, lock=True)
    if reason:
        check_line(reason, name="reason", longest=_REASON)
    connection.execute(update(TEAM).where(TEAM.c.id == team.id).values(standing=standing))
    if standing == "removed":
        connection.execute(delete(SESSION).where(SESSION.c.team == team.id))
    record(connection, team.competition, standing, team.name, by=by, reason=reason, now=now)


def change_token(connection: Connection, team: Team, digest: bytes, *, by: Author, now: str) -> None:
    """Give a team another token; the earlier one and all its sessions are void."""
    find(connection, team.competition, lock=True)
    connection.execute(update(TEAM).where(TEAM.c.id == team.id).values(token=digest))
    connection.execute(delete(SESSION).where(SESSION.c.team == team.id))
    record(connection, team.competition, "token", team.name, by=by, now=now)


def revoke_invites(connection: Connection, slug: str, *, by: Author, now: str) -> int:
    """Make all invites void that no team has used; return how many there were."""
    competition = find(connection, slug, lock=True)
    used = select(TEAM.c.invite).where(TEAM.c.competition == competition["id"])
    unused = (INVITE.c.competition == competition["id"], INVITE.c.id.not_in(used))
    count = int(connection.execute(delete(INVITE).where(*unused)).rowcount)
    record(connection, slug, "revoke", f"{count} invites", by=by, now=now)
    return count
