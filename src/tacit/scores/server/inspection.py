"""Look at submissions after they were scored: what seems crafted is flagged for the host, never dropped."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sqlalchemy import Connection, insert, select, update

from tacit.scores.protect import Finding
from tacit.scores.server.board import Board, from_stored
from tacit.scores.server.database import Database
from tacit.scores.server.schema import COMPETITION, FLAG, PREDICTION, SUBMISSION, TEAM

__all__ = ["Inspector"]

_EARLIER = 20
_PAUSE = 0.05
_GROUP = 16

_log = logging.getLogger("tacit.scores.server")


class Inspector:
    """A thread that looks at what no one has looked at yet, while no submission waits to be scored.

    What is to do is in the database: a server that was killed goes on where it stopped.
    """

    def __init__(
        self, database: Database, *, board: Callable[[str], Board], lock: threading.Lock, idle: Callable[[], bool]
    ) -> None:
        self._database, self._board, self._lock, self._idle = database, board, lock, idle
        self._ask, self._done, self._closed = threading.Event(), threading.Event(), threading.Event()
        self._ask.set()
        self._thread = threading.Thread(target=self._run, name="tacit-inspector", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Say that there is something to look at."""
        self._done.clear()
        self._ask.set()

    def drain(self) -> None:
        """Wait until nothing is left."""
        self.wake()
        while not self._done.wait(_PAUSE) and not self._closed.is_set():
            pass

    def close(self) -> None:
        """Stop after the submission that is looked at."""
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
        """Look at some submissions; False where there is none."""
        while not self._idle() and not self._closed.wait(_PAUSE):
            pass
        with self._database.reading() as connection:
            rows = connection.execute(_WAITING).mappings().all()
            found = [(row, self._inspect(connection, row)) for row in rows]
        if found:
            with self._lock, self._database.writing() as connection:
                for row, findings in found:
                    _store(connection, row, findings)
        return bool(found)

    def _inspect(self, connection: Connection, row: Mapping[str, Any]) -> tuple[Finding, ...]:
        from tacit.scores.protect import inspect_submission

        board = self._board(row["slug"])
        earlier = connection.execute(
            select(PREDICTION)
            .where(PREDICTION.c.team == row["team"], PREDICTION.c.number <= row["number"])
            .order_by(PREDICTION.c.number.desc())
            .limit(_EARLIER + 1)
        ).mappings()
        newest, *others = [from_stored(bytes(entry["content"]), rows=len(board.index)) for entry in earlier]
        return inspect_submission(newest, features=board.matrix, earlier=others, classes=board.setting.metric.classes)


_WAITING = (
    select(SUBMISSION.c.team, SUBMISSION.c.number, COMPETITION.c.slug)
    .join(TEAM, SUBMISSION.c.team == TEAM.c.id)
    .join(COMPETITION, TEAM.c.competition == COMPETITION.c.id)
    .where(SUBMISSION.c.inspected.is_(False))
    .order_by(SUBMISSION.c.team, SUBMISSION.c.number)
    .limit(_GROUP)
)


def _store(connection: Connection, row: Mapping[str, Any], findings: tuple[Finding, ...]) -> None:
    mine = (SUBMISSION.c.team == row["team"], SUBMISSION.c.number == row["number"])
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
    connection.execute(update(SUBMISSION).where(*mine).values(inspected=True))
