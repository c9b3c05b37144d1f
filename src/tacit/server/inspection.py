"""Inspect submissions after they were scored: those that look crafted are flagged for the host, never dropped."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from time import monotonic

import numpy as np
from sqlalchemy import Connection, RowMapping, insert, select, update

from tacit.scores.inspections import FeatureStudy, SubmissionFinding, inspect_submission, sketch_submission
from tacit.server.board import CompetitionBoard, from_stored
from tacit.server.database import ServerDatabase
from tacit.server.schema import COMPETITION, FLAG, PREDICTION, SUBMISSION, TEAM

__all__ = ["SubmissionInspector"]

_EARLIER = 1_000
_PAUSE = 0.05
_GROUP = 16
_PATIENCE = 2.0  # under load a group is looked at this often all the same

Row = RowMapping

_log = logging.getLogger("tacit.server")


class SubmissionInspector:
    """A thread that looks at what no one has looked at yet, mostly while no submission waits to be scored.

    What is to do is in the database: a server that was killed goes on where it stopped.
    """

    def __init__(
        self,
        database: ServerDatabase,
        *,
        board: Callable[[str], CompetitionBoard],
        lock: threading.Lock,
        idle: Callable[[], bool],
    ) -> None:
        self._database, self._board, self._lock, self._idle = database, board, lock, idle
        self._studies: dict[str, FeatureStudy] = {}
        self._ask, self._done, self._closed = threading.Event(), threading.Event(), threading.Event()
        self._ask.set()
        self._thread = threading.Thread(target=self._run, name="tacit-inspector", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Announce a new submission."""
        self._done.clear()
        self._ask.set()

    def drain(self) -> None:
        """Wait until nothing is left."""
        self.wake()
        while not self._done.wait(_PAUSE) and not self._closed.is_set():
            pass

    def close(self) -> None:
        """Stop after the current submission."""
        self._closed.set()
        self._ask.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closed.is_set():
            self._ask.wait()
            self._ask.clear()
            try:
                while not self._closed.is_set() and self._look():
                    pass
            except Exception as error:
                _log.error("inspection failed: %s", type(error).__name__)
                self._closed.wait(1.0)
            if not self._ask.is_set():
                self._done.set()

    def _look(self) -> bool:
        """Inspect some submissions; False if there is none."""
        until = monotonic() + _PATIENCE
        while not self._idle() and monotonic() < until and not self._closed.wait(_PAUSE):
            pass
        with self._database.reading() as connection:
            rows = connection.execute(_WAITING).mappings().all()
        for row in rows:
            sketch, findings = self._try(row)
            with self._lock, self._database.writing() as connection:
                _store(connection, row, sketch, findings)
        return bool(rows)

    def _try(self, row: Row) -> tuple[str | None, tuple[SubmissionFinding, ...]]:
        """Inspect one submission; if it cannot be inspected, it is flagged as such."""
        try:
            with self._database.reading() as connection:
                return self._inspect(connection, row)
        except (ArithmeticError, ValueError) as error:
            _log.error("inspection failed: %s", type(error).__name__)
            return None, (
                SubmissionFinding(check="failed", reason="it could not be inspected", measured=0.0, limit=0.0),
            )

    def _inspect(self, connection: Connection, row: Row) -> tuple[str, tuple[SubmissionFinding, ...]]:
        board = self._board(row["slug"])
        mine = (PREDICTION.c.team == row["team"], PREDICTION.c.number == row["number"])
        content = connection.execute(select(PREDICTION.c.content).where(*mine)).scalar_one()
        predictions = from_stored(bytes(content), rows=len(board.index))
        earlier = connection.execute(
            select(SUBMISSION.c.sketch)
            .where(SUBMISSION.c.team == row["team"], SUBMISSION.c.number < row["number"], SUBMISSION.c.inspected)
            .order_by(SUBMISSION.c.number.desc())
            .limit(_EARLIER)
        ).scalars()
        found = inspect_submission(
            predictions,
            classes=board.metric.classes,
            features=self._study(row["slug"], board),
            earlier=[sketch for sketch in earlier if sketch],
        )
        return sketch_submission(predictions), found

    def _study(self, slug: str, board: CompetitionBoard) -> FeatureStudy | None:
        """Study a competition's features once."""
        if board.matrix.shape[1] == 0:
            return None
        if slug not in self._studies:
            self._studies[slug] = FeatureStudy.of(board.matrix)
        return self._studies[slug]


_WAITING = (
    select(SUBMISSION.c.team, SUBMISSION.c.number, COMPETITION.c.slug)
    .join(TEAM, SUBMISSION.c.team == TEAM.c.id)
    .join(COMPETITION, TEAM.c.competition == COMPETITION.c.id)
    .where(SUBMISSION.c.inspected.is_(False))
    .order_by(SUBMISSION.c.team, SUBMISSION.c.number)
    .limit(_GROUP)
)


def _store(connection: Connection, row: Row, sketch: str | None, findings: tuple[SubmissionFinding, ...]) -> None:
    mine = (SUBMISSION.c.team == row["team"], SUBMISSION.c.number == row["number"], SUBMISSION.c.inspected.is_(False))
    if not connection.execute(update(SUBMISSION).where(*mine).values(inspected=True, sketch=sketch)).rowcount:
        return  # another process of this server has looked at it meanwhile
    for finding in findings:
        connection.execute(
            insert(FLAG).values(
                team=row["team"],
                number=row["number"],
                finding=finding.check,
                reason=finding.reason,
                measured=float(np.nan_to_num(finding.measured)),  # JSON has no infinity
                boundary=float(np.nan_to_num(finding.limit)),
            )
        )
