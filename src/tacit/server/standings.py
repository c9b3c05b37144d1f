"""What is read from the tables: scores, leaderboards, flags, the final ranking."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, func, select, update

from tacit.server.board import CompetitionBoard
from tacit.server.records import FinalPlace, LeaderboardPlace, ScoredSubmission, SubmissionFlag
from tacit.server.schema import BEST, COMPETITION, FINAL, FLAG, SUBMISSION, TEAM, TRAIL
from tacit.server.submission import is_better, score_of
from tacit.server.uncertainty import ScoreNoise, places

__all__ = [
    "RANKED",
    "WITHOUT_BEST",
    "best_scores",
    "fill_best",
    "final",
    "flags",
    "improvements",
    "leaderboard",
    "ranked_numbers",
    "scores",
    "version",
]

RANKED = TEAM.c.standing.in_(("active", "frozen"))
"""Teams that are ranked and shown."""


WITHOUT_BEST = select(COMPETITION).where(
    COMPETITION.c.id.in_(
        select(TEAM.c.competition)
        .join(SUBMISSION, SUBMISSION.c.team == TEAM.c.id)
        .where(TEAM.c.best_number.is_(None), TEAM.c.used > 0, SUBMISSION.c.answered)
    )
)
"""Competitions of which an earlier server stored no best scores."""


def scores(
    connection: Connection,
    *conditions: ColumnElement[bool],
    most: int = 1_000_000,
    skip: int = 0,
    noise: ScoreNoise | None = None,
) -> tuple[ScoredSubmission, ...]:
    """Return released scores, oldest first: the newest ``most`` but those to skip, with intervals if noise is given."""
    query = (
        select(SUBMISSION, TEAM.c.name)
        .join(TEAM, SUBMISSION.c.team == TEAM.c.id)
        .where(*conditions)
        .order_by(SUBMISSION.c.time.desc(), SUBMISSION.c.number.desc())
        .limit(most)
        .offset(skip)
    )
    rows = connection.execute(query).mappings().all()
    return tuple(score_of(row, team=row["name"], noise=noise) for row in reversed(rows))


def best_scores(connection: Connection, competition: int, *, lower: bool) -> Sequence[RowMapping]:
    """Return the teams that have a score, best first; the team's row has the score, so no submission is read."""
    sign = TEAM.c.best_released if lower else -TEAM.c.best_released
    query = (
        select(TEAM)
        .where(TEAM.c.competition == competition, TEAM.c.best_number.is_not(None), RANKED)
        .order_by(sign, TEAM.c.best_time, TEAM.c.id)
    )
    return connection.execute(query).mappings().all()


def improvements(connection: Connection, teams: Sequence[int], *, most: int) -> tuple[ScoredSubmission, ...]:
    """Return the scores with which teams improved, oldest first, the newest ``most``."""
    return scores(connection, SUBMISSION.c.team.in_(teams), SUBMISSION.c.improved, most=most)


def fill_best(connection: Connection, competition: int, *, lower: bool) -> None:
    """Store the best scores of teams that an earlier server left without."""
    missing = (TEAM.c.competition == competition, TEAM.c.best_number.is_(None), TEAM.c.used > 0)
    for team in connection.execute(select(TEAM.c.id).where(*missing)).scalars().all():
        mine = select(SUBMISSION).where(SUBMISSION.c.team == team, SUBMISSION.c.answered)
        best: RowMapping | None = None
        for row in connection.execute(mine.order_by(SUBMISSION.c.number)).mappings().all():
            if is_better(row["released"], None if best is None else best["released"], lower=lower):
                best = row
                improved = (SUBMISSION.c.team == team, SUBMISSION.c.number == row["number"])
                connection.execute(update(SUBMISSION).where(*improved).values(improved=True))
        if best is not None:
            values = {name: best[name.removeprefix("best_")] for name in BEST}
            connection.execute(update(TEAM).where(TEAM.c.id == team).values(values))


def version(connection: Connection, competition: RowMapping) -> tuple[Any, ...]:
    """Return what changes with everything that a competition's public page shows."""
    mine = TEAM.c.competition == competition["id"]
    acts = select(func.count()).where(TRAIL.c.slug == competition["slug"]).scalar_subquery()
    counts = connection.execute(select(func.count(), func.coalesce(func.sum(TEAM.c.used), 0), acts).where(mine)).one()
    return (*competition.values(), *counts)


def ranked_numbers(connection: Connection, competition: int) -> dict[int, int]:
    """Return the number of the submission that each team chose to be ranked, else of its last one."""
    query = select(TEAM.c.id, func.coalesce(TEAM.c.chosen, TEAM.c.used))
    mine = (TEAM.c.competition == competition, TEAM.c.used > 0, RANKED)
    return {row[0]: row[1] for row in connection.execute(query.where(*mine))}


def leaderboard(best: Sequence[RowMapping], board: CompetitionBoard) -> tuple[LeaderboardPlace, ...]:
    """Return the places of the teams that have a score; those whose intervals overlap share a group of places."""
    intervals = [board.noise.interval(row["best_released"], of=row["used"]) for row in best]
    groups = places([row["best_released"] for row in best], intervals, lower=board.metric.lower_is_better)
    return tuple(
        LeaderboardPlace(
            rank=first,
            last=last,
            team=row["name"],
            released=row["best_released"],
            text=row["best_text"],
            interval=interval,
            submissions=row["used"],
            time=datetime.fromisoformat(row["best_time"]),
        )
        for (first, last), row, interval in zip(groups, best, intervals, strict=True)
    )


def flags(connection: Connection, competition: int, *, most: int = 1_000_000) -> tuple[SubmissionFlag, ...]:
    """Return the newest flags of a competition, newest first."""
    query = (
        select(FLAG, TEAM.c.name, SUBMISSION.c.key, SUBMISSION.c.time)
        .join(TEAM, FLAG.c.team == TEAM.c.id)
        .join(SUBMISSION, (SUBMISSION.c.team == FLAG.c.team) & (SUBMISSION.c.number == FLAG.c.number))
        .where(TEAM.c.competition == competition)
        .order_by(FLAG.c.id.desc())
        .limit(most)
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


def final(connection: Connection, competition: int, board: CompetitionBoard) -> tuple[FinalPlace, ...]:
    """Return the final ranking, best first; empty before it was released."""
    query = (
        select(FINAL, TEAM.c.name, TEAM.c.used)
        .join(TEAM, FINAL.c.team == TEAM.c.id)
        .where(FINAL.c.competition == competition)
        .order_by(FINAL.c.rank, FINAL.c.public_rank, FINAL.c.team)
    )
    rows = connection.execute(query).mappings().all()
    split = board.rules.is_split  # else the best of many scores, about whose order nothing is claimed
    noise = board.final_noise if split else board.noise
    values = [row["released"] for row in rows]
    intervals = [noise.interval(row["released"], of=1 if split else row["used"]) for row in rows]
    ahead = [noise.in_order(better, worse) if split else None for better, worse in pairwise(values)]
    groups = places(values, intervals, lower=board.metric.lower_is_better)
    return tuple(
        FinalPlace(
            rank=first,
            last=last,
            team=row["name"],
            released=row["released"],
            text=row["text"],
            interval=interval,
            ahead=chance,
            public_rank=row["public_rank"] or None,
        )
        for (first, last), row, interval, chance in zip(groups, rows, intervals, [*ahead, None], strict=False)
    )
