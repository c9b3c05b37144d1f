"""Teams: invited, paid for in the ledger, and then stored."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, RowMapping, func, insert, select

from tacit.privacy.guarantee import Guarantee
from tacit.server.accounts import PUBLIC, LedgerAccounts
from tacit.server.competition import find
from tacit.server.errors import Conflict, Forbidden, NotFound
from tacit.server.key import ServerKey
from tacit.server.names import read_alike
from tacit.server.records import Team
from tacit.server.reservation import scores_reserved, team_guarantee
from tacit.server.rules import Rules
from tacit.server.schema import COMPETITION, INVITE, TEAM
from tacit.server.submission import state_place

__all__ = ["TEAMS", "check_room", "find_invited", "insert_team", "reserve", "team_of"]

TEAMS = select(TEAM, COMPETITION.c.slug).join(COMPETITION, TEAM.c.competition == COMPETITION.c.id)
"""All teams, with the slugs of their competitions."""


def team_of(row: RowMapping) -> Team:
    """Return a team from a row of :data:`TEAMS`."""
    joined = datetime.fromisoformat(row["joined"])
    return Team(id=row["id"], competition=row["slug"], name=row["name"], joined=joined, standing=row["standing"])


def find_invited(connection: Connection, code: bytes, *, name: str) -> tuple[RowMapping, RowMapping]:
    """Find and lock an unused invite and its competition, where no team has this name."""
    found = connection.execute(select(INVITE).where(INVITE.c.code == code).with_for_update())
    invite = found.mappings().first()
    if invite is None:
        raise NotFound("this invite is not known; ask the host for another one")
    slug = select(COMPETITION.c.slug).where(COMPETITION.c.id == invite["competition"])
    competition = find(connection, connection.execute(slug).scalar_one(), lock=True)
    mine = TEAM.c.competition == competition["id"]
    if connection.execute(select(TEAM.c.id).where(TEAM.c.invite == invite["id"])).first() is not None:
        raise Conflict("this invite was used already; ask the host for another one")
    taken = connection.execute(select(TEAM.c.name).where(mine)).scalars()
    if read_alike(name) in map(read_alike, taken):
        raise Conflict("another team has this name; choose another one")
    return invite, competition


def check_room(connection: Connection, competition: RowMapping, *, teams: int) -> None:
    """Raise where as many teams have joined as may."""
    # counted by a statement of its own: PostgreSQL answers the one that waited for the lock as of before it waited
    joined = select(func.count()).where(TEAM.c.competition == competition["id"])
    if connection.execute(joined).scalar_one() >= teams:
        raise Forbidden(f"all {teams} places are taken; ask the host")


def reserve(accounts: LedgerAccounts, competition: RowMapping, rules: Rules, *, invite: bytes) -> str | None:
    """Charge the ledger for all scores that a team can get, before it can get one; return the entry's id."""
    guarantee = team_guarantee(rules, delta=competition["delta"])
    if competition["data_set"] is None or not isinstance(guarantee, Guarantee):
        return None
    data_set, slug, code = competition["data_set"], competition["slug"], invite.hex()
    purpose = f"{slug}: {scores_reserved(rules)} scores of the team with invite {code[:16]}"
    part = PUBLIC if competition["parted"] else None
    without_key = accounts.standing(data_set).get(purpose)  # as earlier servers charged
    return without_key or accounts.charge(data_set, guarantee, "team", slug, code, purpose=purpose, part=part)


def insert_team(
    connection: Connection,
    invite: RowMapping,
    *,
    name: str,
    token: bytes,
    entry: str | None,
    reserved: int,
    key: ServerKey,
    now: str,
) -> Team:
    """Store a team whose budget was charged."""
    connection.execute(
        insert(TEAM).values(
            competition=invite["competition"],
            invite=invite["id"],
            name=name,
            token=token,
            joined=now,
            entry=entry,
            reserved=reserved,
            drawn=0,
            used=0,
            day="",
            used_today=0,
            state=key.seal(b"{}", place=state_place(invite["id"])),
        )
    )
    return team_of(connection.execute(TEAMS.where(TEAM.c.invite == invite["id"])).mappings().one())
