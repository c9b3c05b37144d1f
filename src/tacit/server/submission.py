"""The one writer: budget, score and record of every submission in one transaction before the answer is sent."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, func, insert, select, update

from tacit.privacy.errors import BudgetExceeded
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.noise import system_rng
from tacit.scores.metrics import UnreleasedScore
from tacit.scores.policies import Answer
from tacit.server.board import CompetitionBoard, stored
from tacit.server.database import ServerDatabase
from tacit.server.errors import BudgetSpent, Conflict, Forbidden, NotFound, Unavailable
from tacit.server.key import ServerKey
from tacit.server.records import ScoredSubmission
from tacit.server.schema import BEST, COMPETITION, PREDICTION, SUBMISSION, TEAM
from tacit.server.settings import ServerSettings
from tacit.server.uncertainty import ScoreNoise

__all__ = ["Submission", "SubmissionWriter", "is_better", "score_of", "state_place", "used_on"]

_BATCH = 128
_WAITING = 4096
_QUIET = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """Predictions that were checked and measured, on their way to the writer."""

    team: int
    key: str
    fresh: bool
    digest: str
    predictions: NDArray[np.float64] = field(repr=False)
    measurement: UnreleasedScore
    board: CompetitionBoard
    note: str = ""
    answer: Future[ScoredSubmission] = field(default_factory=Future, repr=False)


class SubmissionWriter:
    """A thread that takes what is queued, decides it in order, and commits it as one group.

    An answer is given only after the commit that holds it: what a team has seen is on disk. Equal ids get the
    answer that was given before.
    """

    def __init__(
        self,
        database: ServerDatabase,
        *,
        key: ServerKey,
        key_check: bytes,
        settings: ServerSettings,
        lock: threading.Lock,
    ) -> None:
        self._key_check = key_check
        self._database, self._key, self._settings, self._lock = database, key, settings, lock
        self._rng = system_rng()
        self._queue: queue.Queue[Submission | None] = queue.Queue(_WAITING)
        self._thread = threading.Thread(target=self._run, name="tacit-writer", daemon=True)
        self._closed = False
        self._last = 0.0
        self._thread.start()

    @property
    def idle(self) -> bool:
        """Whether nothing waits and nothing came lately."""
        return self._queue.empty() and monotonic() - self._last > _QUIET

    @property
    def waiting(self) -> int:
        """How many submissions wait."""
        return self._queue.qsize()

    def put(self, submission: Submission) -> Future[ScoredSubmission]:
        """Queue a submission; its answer is set when it is on disk, or refused."""
        if self._closed:
            raise Unavailable("the server is shutting down; nothing was scored, try again later")
        self._last = monotonic()
        submission.answer.set_running_or_notify_cancel()  # from here on nobody can cancel it
        try:
            self._queue.put_nowait(submission)
        except queue.Full:
            raise Unavailable("the server is overloaded; nothing was scored, try again later") from None
        return submission.answer

    def close(self) -> None:
        """Write what is queued and stop."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
            self._thread.join()

    def _run(self) -> None:
        ended = False
        while not ended:
            batch = [self._queue.get()]
            while len(batch) < _BATCH and not self._queue.empty():
                batch.append(self._queue.get())
            ended = None in batch
            submissions = [entry for entry in batch if entry is not None]
            if submissions:
                self._write(submissions)

    def _write(self, batch: Sequence[Submission]) -> None:
        try:
            with self._lock, self._database.writing() as connection:
                self._database.check_key(connection, self._key_check)
                outcomes = _SubmissionGroup(
                    connection, batch, key=self._key, now=self._settings.clock(), rng=self._rng
                ).decide()
        except Exception as error:
            failure = error if isinstance(error, Unavailable) else Unavailable("the server failed; nothing was shown")
            failure.__cause__ = error
            outcomes = [failure] * len(batch)
        for submission, outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, ScoredSubmission):
                submission.answer.set_result(outcome)
            else:
                submission.answer.set_exception(outcome)


class _SubmissionGroup:
    """The submissions of one transaction."""

    def __init__(
        self,
        connection: Connection,
        batch: Sequence[Submission],
        *,
        key: ServerKey,
        now: datetime,
        rng: np.random.Generator,
    ) -> None:
        self._connection, self._batch, self._key, self._now, self._rng = connection, batch, key, now, rng
        self._teams = self._read_teams()
        self._known = self._read_known()
        self._remembered = self._read_remembered()
        self._new: list[dict[str, Any]] = []
        self._contents: list[dict[str, Any]] = []
        self._changed: set[int] = set()

    def decide(self) -> list[ScoredSubmission | Exception]:
        """Decide all in order, then write all."""
        outcomes: list[ScoredSubmission | Exception] = []
        for submission in self._batch:
            try:
                outcomes.append(self._decide(submission))
            except Exception as refusal:  # of this one alone: nothing was written for it yet
                outcomes.append(refusal)
        self._write()
        return outcomes

    def _decide(self, submission: Submission) -> ScoredSubmission:
        team = self._teams.get(submission.team)
        if team is None:
            raise NotFound("this team is no longer known")
        known = self._known.get((submission.team, submission.key))
        if known is not None:
            if known["digest"] != submission.digest:
                raise Conflict("this id was used for other predictions; choose another id")
            return score_of(known, team=team["name"], noise=submission.board.noise)
        self._check_open(team)
        if team["standing"] != "active":
            raise Forbidden(f"this team is {team['standing']}; nothing was scored, ask the host")
        today = self._now.astimezone(UTC).date().isoformat()
        used_today = used_on(self._connection, team, day=today)
        refusal = submission.board.rules.refusal(used=team["used"], used_today=used_today)
        if refusal is not None:
            raise BudgetSpent(f"{refusal}; nothing was scored")
        answer = self._answer(submission, team)
        charged = answer is not None and _is_counted(answer, team)
        if team["drawn"] + charged > team["reserved"]:
            raise BudgetSpent("what was charged to the ledger for this team is used; nothing was scored")
        team |= {
            "used": team["used"] + 1,
            "day": today,
            "used_today": used_today + 1,
            "drawn": team["drawn"] + charged,
            "state": team["state"] if answer is None else dict(answer.state),
        }
        self._changed.add(submission.team)
        return self._record(submission, team, answer, charged=charged)

    def _answer(self, submission: Submission, team: Mapping[Any, Any]) -> Answer | None:
        """Return the answer; None where the team's live scores are used, so that the submission is kept for the end."""
        rules = submission.board.rules
        earlier = self._remembered.get((team["competition"], submission.digest))
        if earlier is not None and rules.policy.stateless:
            # the same noise again: it cannot be averaged away, and costs the labels nothing
            return Answer(released=earlier["released"], text=earlier["text"], charge=None, state=team["state"])
        if team["answers"] is not None and team["drawn"] >= team["answers"]:
            return None
        try:
            answer = rules.policy.release(submission.measurement, state=team["state"], rng=self._rng)
            return submission.board.noise.rounded(answer)
        except BudgetExceeded as spent:
            raise BudgetSpent(str(spent)) from None

    def _record(
        self, submission: Submission, team: dict[str, Any], answer: Answer | None, *, charged: bool
    ) -> ScoredSubmission:
        row = {
            "team": submission.team,
            "number": team["used"],
            "key": submission.key,
            "time": self._now.isoformat(),
            "digest": submission.digest,
            "charged": charged,
            "released": 0.0 if answer is None else answer.released,
            "text": "" if answer is None else answer.text,
            "answered": answer is not None,
            "inspected": False,
            "sketch": None,
            "competition": team["competition"],
            "note": submission.note,
        }
        lower = submission.board.metric.lower_is_better
        row["improved"] = answer is not None and is_better(answer.released, team["best_released"], lower=lower)
        if row["improved"]:
            team.update({name: row[name.removeprefix("best_")] for name in BEST})
        self._new.append(row)
        self._contents.append(
            {"team": submission.team, "number": team["used"], "content": stored(submission.predictions)}
        )
        self._known[submission.team, submission.key] = row
        if answer is not None:
            self._remembered.setdefault((team["competition"], submission.digest), row)
        return score_of(row, team=team["name"], noise=submission.board.noise)

    def _check_open(self, team: Mapping[Any, Any]) -> None:
        if team["finished"] is not None:
            raise Forbidden("the competition is finished; nothing was scored")
        for name, moment in (("opens", team["opens"]), ("closes", team["closes"])):
            late = name == "closes"
            if moment is not None and (datetime.fromisoformat(moment) <= self._now) == late:
                raise Forbidden(f"the competition {'closed' if late else name} at {moment}; nothing was scored")

    def _read_teams(self) -> dict[int, dict[str, Any]]:
        """Read and lock the teams, in order of their ids so that two processes cannot wait for each other."""
        wanted = sorted({submission.team for submission in self._batch})
        query = (
            select(TEAM, *(COMPETITION.c[name] for name in ("finished", "opens", "closes", "answers")))
            .join(COMPETITION, TEAM.c.competition == COMPETITION.c.id)
            .where(TEAM.c.id.in_(wanted))
            .order_by(TEAM.c.id)
        )
        # the competitions' locks are shared: they keep out a final ranking alone
        self._connection.execute(
            select(COMPETITION.c.id)
            .where(COMPETITION.c.id.in_(sorted({submission.board.id for submission in self._batch})))
            .order_by(COMPETITION.c.id)
            .with_for_update(read=True)
        )
        rows = self._connection.execute(query.with_for_update(of=TEAM)).mappings()
        return {row["id"]: dict(row) | {"state": self._state(row)} for row in rows}

    def _state(self, row: Mapping[Any, Any]) -> dict[str, Any]:
        opened: dict[str, Any] = json.loads(self._key.open(row["state"], place=state_place(row["invite"])))
        return opened

    def _read_known(self) -> dict[tuple[int, str], Mapping[Any, Any]]:
        """Read earlier submissions with the same ids; ids that the server drew have none."""
        asked = [submission for submission in self._batch if not submission.fresh]
        if not asked:
            return {}
        rows = self._connection.execute(
            select(SUBMISSION).where(
                SUBMISSION.c.key.in_({submission.key for submission in asked}),
                SUBMISSION.c.team.in_({submission.team for submission in asked}),
            )
        ).mappings()
        return {(row["team"], row["key"]): row for row in rows}

    def _read_remembered(self) -> dict[tuple[int, str], Mapping[Any, Any]]:
        """Read the first answers to the same predictions, by any team of the competition."""
        rows = self._connection.execute(
            select(SUBMISSION, TEAM.c.competition)
            .join(TEAM, SUBMISSION.c.team == TEAM.c.id)
            .where(SUBMISSION.c.digest.in_({submission.digest for submission in self._batch}), SUBMISSION.c.answered)
            .order_by(SUBMISSION.c.time.desc())
        ).mappings()
        return {(row["competition"], row["digest"]): row for row in rows}

    def _write(self) -> None:
        if not self._new:
            return
        self._connection.execute(insert(SUBMISSION), self._new)
        self._connection.execute(insert(PREDICTION), self._contents)
        self._connection.execute(_UPDATE, [self._team_row(self._teams[team]) for team in sorted(self._changed)])

    def _team_row(self, team: Mapping[Any, Any]) -> dict[str, Any]:
        plain = json.dumps(team["state"]).encode()
        return {
            "which": team["id"],
            "new_used": team["used"],
            "new_day": team["day"],
            "new_used_today": team["used_today"],
            "new_drawn": team["drawn"],
            **{f"new_{name}": team[name] for name in BEST},
            "new_state": self._key.seal(plain, place=state_place(team["invite"])),
        }


_UPDATE = (
    update(TEAM)
    .where(TEAM.c.id == bindparam("which"))
    .values({name: bindparam(f"new_{name}") for name in ("used", "day", "used_today", "drawn", "state", *BEST)})
)


def _is_counted(answer: Answer, team: Mapping[Any, Any]) -> bool:
    """Return whether an answer is one of those that the team's charge, or its part of the live scores, is for."""
    return isinstance(answer.charge, Guarantee) or (team["answers"] is not None and answer.charge is not None)


def is_better(released: float, best: float | None, *, lower: bool) -> bool:
    """Return whether a released score improves on the best one so far."""
    return best is None or (released < best if lower else released > best)


def used_on(connection: Connection, team: Mapping[Any, Any], *, day: str) -> int:
    """Return how many submissions a team made on a day; its row has the last day that was queried.

    A clock that goes back, or another process whose clock is behind, asks for a day that is over: it is not begun
    again.
    """
    if team["day"] == day:
        return int(team["used_today"])
    made = select(func.count()).where(SUBMISSION.c.team == team["id"], SUBMISSION.c.time.startswith(day))
    return int(connection.execute(made).scalar_one())


def score_of(row: Mapping[Any, Any], *, team: str, noise: ScoreNoise | None = None) -> ScoredSubmission:
    """Return a stored submission as its team sees it, with its interval where the noise is given."""
    interval = noise.interval(row["released"]) if noise is not None and row["answered"] else None
    return ScoredSubmission(
        id=row["key"],
        team=team,
        number=row["number"],
        time=datetime.fromisoformat(row["time"]),
        released=row["released"] if row["answered"] else None,
        text=row["text"],
        interval=interval,
        note=row["note"],
    )


def state_place(invite: int) -> str:
    """Return what a team's encrypted state is bound to: the invite it came with."""
    return f"the team of invite {invite}"
