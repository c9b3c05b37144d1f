"""The final ranking on the private rows: charged, released and stored once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, insert, select, update

from tacit.privacy.guarantee import Guarantee
from tacit.privacy.noise import system_rng
from tacit.scores.policies import Answer
from tacit.server.accounts import PRIVATE, LedgerAccounts
from tacit.server.board import CompetitionBoard, from_stored
from tacit.server.reservation import final_guarantee
from tacit.server.schema import COMPETITION, FINAL, PREDICTION
from tacit.server.standings import best_scores, leaderboard, ranked_numbers

__all__ = ["release_final"]


def release_final(
    connection: Connection,
    board: CompetitionBoard,
    competition: Mapping[Any, Any],
    *,
    accounts: LedgerAccounts,
    now: str,
) -> None:
    """Store the final ranking inside the caller's transaction, which holds the competition's lock.

    The ledger is charged before the first of the scores exists. A kill after the charge leaves no ranking; the next try
    finds the standing charge, adds what teams that came meanwhile cost, and draws the noise again, which nobody saw.
    """
    lower = board.metric.lower_is_better
    best = best_scores(connection, competition["id"], lower=lower)
    public_ranks = {row["id"]: place.rank for row, place in zip(best, leaderboard(best, board), strict=True)}
    if bool(board.labels.public_rows.all()):
        answers = {row["id"]: (row["best_released"], row["best_text"]) for row in best}
    else:
        last = ranked_numbers(connection, competition["id"])
        _charge(board, competition, teams=len(last), accounts=accounts)
        drawn: dict[bytes, Answer] = {}  # the same predictions get the same answer: nobody averages the noise away
        found = {team: _final_answer(connection, board, team, number, drawn) for team, number in last.items()}
        answers = {team: (answer.released, answer.text) for team, answer in found.items()}
    ordered = sorted(value if lower else -value for value, _ in answers.values())
    rows = [
        {
            "competition": competition["id"],
            "team": team,
            "rank": ordered.index(value if lower else -value) + 1,
            "public_rank": public_ranks.get(team, 0),
            "released": value,
            "text": text,
        }
        for team, (value, text) in answers.items()
    ]
    if rows:
        connection.execute(insert(FINAL), rows)
    connection.execute(update(COMPETITION).where(COMPETITION.c.id == competition["id"]).values(finished=now))


def _charge(board: CompetitionBoard, competition: Mapping[Any, Any], *, teams: int, accounts: LedgerAccounts) -> None:
    """Make one charge for the final scores that no charge covers yet."""
    data_set = competition["data_set"]
    if data_set is None:
        return
    # a short name may come again in another server of the same ledger: the moment tells the two apart
    made = f"{competition['slug']}, made {competition['time']}"
    charged = _scores_charged(accounts.standing(data_set), made)
    if charged >= teams:
        return
    guarantee = final_guarantee(board.rules, scores=teams - charged, delta=competition["delta"])
    if isinstance(guarantee, Guarantee):
        span = f"scores {charged + 1} to {teams}"
        part = PRIVATE if competition["parted"] else None
        purpose = f"{made}: the final ranking, {span}"
        accounts.charge(data_set, guarantee, "final", made, span, purpose=purpose, part=part)


def _scores_charged(purposes: Iterable[str], made: str) -> int:
    """Return how many final scores the charges cover without a gap; some servers charged each team separately."""
    scores, alone = f"{made}: the final ranking, scores ", f"{made}: the final score of team "
    spans = sorted(
        tuple(map(int, purpose.removeprefix(scores).split(" to ")))
        for purpose in purposes
        if purpose.startswith(scores)
    )
    charged = 0
    for more in (0, sum(purpose.startswith(alone) for purpose in purposes)):
        charged += more
        for first, last in spans:
            charged = last if first == charged + 1 else charged
    return charged


def _final_answer(
    connection: Connection, board: CompetitionBoard, team: int, number: int, drawn: dict[bytes, Answer]
) -> Answer:
    mine = (PREDICTION.c.team == team, PREDICTION.c.number == number)
    content = bytes(connection.execute(select(PREDICTION.c.content).where(*mine)).scalar_one())
    digest = hashlib.sha256(content).digest()
    if digest not in drawn:
        measured = board.measure(from_stored(content, rows=len(board.index)), final=True)
        answer = board.rules.final_policy.release(measured, state={}, rng=system_rng())
        drawn[digest] = board.final_noise.rounded(answer)
    return drawn[digest]
