"""What is read from the tables: scores, leaderboards, flags, the final ranking."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ColumnElement, Connection, func, select

from tacit.server.records import FinalPlace, LeaderboardPlace, ScoredSubmission, SubmissionFlag
from tacit.server.schema import FINAL, FLAG, SUBMISSION, TEAM
from tacit.server.submission import score_of

__all__ = ["RANKED", "best_submissions", "final", "flags", "last_numbers", "leaderboard", "ranks", "scores"]

RANKED = TEAM.c.standing.in_(("active", "frozen"))
"""Teams that are ranked and shown."""


def scores(
    connection: Connection, *conditions: ColumnElement[bool], most: int = 1_000_000
) -> tuple[ScoredSubmission, ...]:
    """Return released scores, oldest first, the newest ``most``."""
    query = (
        select(SUBMISSION, TEAM.c.name)
        .join(TEAM, SUBMISSION.c.team == TEAM.c.id)
        .where(*conditions)
        .order_by(SUBMISSION.c.time.desc(), SUBMISSION.c.number.desc())
        .limit(most)
    )
    rows = connection.execute(query).mappings().all()
    return tuple(score_of(row, team=row["name"]) for row in reversed(rows))


def best_submissions(
    connection: Connection, competition: int, *, lower: bool
) -> list[tuple[int, str, ScoredSubmission, int]]:
    """Return id, name, best released score (the first of equal ones) and count of each team with one, best first."""
    sign = SUBMISSION.c.released if lower else -SUBMISSION.c.released
    place = func.row_number().over(partition_by=SUBMISSION.c.team, order_by=(sign, SUBMISSION.c.number))
    ranked = (
        select(SUBMISSION, TEAM.c.name, TEAM.c.used, place.label("place"), sign.label("sign"))
        .join(TEAM, SUBMISSION.c.team == TEAM.c.id)
        .where(TEAM.c.competition == competition, SUBMISSION.c.answered, RANKED)
        .subquery()
    )
    query = select(ranked).where(ranked.c.place == 1).order_by(ranked.c.sign, ranked.c.time, ranked.c.team)
    rows = connection.execute(query).mappings()
    return [(row["team"], row["name"], score_of(row, team=row["name"]), row["used"]) for row in rows]


def last_numbers(connection: Connection, competition: int) -> dict[int, int]:
    """Return the number of each team's last submission."""
    query = (
        select(SUBMISSION.c.team, func.max(SUBMISSION.c.number))
        .join(TEAM, SUBMISSION.c.team == TEAM.c.id)
        .where(TEAM.c.competition == competition, RANKED)
        .group_by(SUBMISSION.c.team)
    )
    return {row[0]: row[1] for row in connection.execute(query)}


def leaderboard(connection: Connection, competition: int, *, lower: bool) -> tuple[LeaderboardPlace, ...]:
    """Return each team's best released score, best first; equal scores share a rank."""
    best = best_submissions(connection, competition, lower=lower)
    places = ranks([score.value for _, _, score, _ in best])
    return tuple(
        LeaderboardPlace(rank=rank, team=name, released=score.value, text=score.text, submissions=used, time=score.time)
        for rank, (_, name, score, used) in zip(places, best, strict=True)
    )


def ranks(values: list[float]) -> list[int]:
    """Return 1, 2, 2, 4, ...: the rank of each of some sorted values."""
    return [values.index(value) + 1 for value in values]


def flags(connection: Connection, competition: int) -> tuple[SubmissionFlag, ...]:
    """Return all flags of a competition, newest first."""
    query = (
        select(FLAG, TEAM.c.name, SUBMISSION.c.key, SUBMISSION.c.time)
        .join(TEAM, FLAG.c.team == TEAM.c.id)
        .join(SUBMISSION, (SUBMISSION.c.team == FLAG.c.team) & (SUBMISSION.c.number == FLAG.c.number))
        .where(TEAM.c.competition == competition)
        .order_by(FLAG.c.id.desc())
    )
    return tuple(
        SubmissionFlag(
            submission=row["key"],
            team=row["name"],
            number=row["number"],
            time=datetime.fromisoformat(row["time"]),
            check=row["finding"],
            reason=row["reason"],
            measured=row["measured"],
            limit=row["boundary"],
        )
        for row in connection.execute(query).mappings()
    )


def final(connection: Connection, competition: int) -> tuple[FinalPlace, ...]:
    """Return the final ranking, best first; empty before it was released."""
    query = (
        select(FINAL.c.rank, TEAM.c.name.label("team"), FINAL.c.released, FINAL.c.text, FINAL.c.public_rank)
        .join(TEAM, FINAL.c.team == TEAM.c.id)
        .where(FINAL.c.competition == competition)
        .order_by(FINAL.c.rank, FINAL.c.public_rank, FINAL.c.team)
    )
    rows = connection.execute(query).mappings()
    return tuple(FinalPlace(**{**row, "public_rank": row["public_rank"] or None}) for row in rows)
