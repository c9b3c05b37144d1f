"""Replays that run beside the server, one for a competition at a time, and what they last said."""

from __future__ import annotations

import logging
import threading
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tacit.privacy.errors import InvalidInput, TacitError
from tacit.server.engine import Engine
from tacit.server.errors import Conflict
from tacit.server.replay import Replay, ReplayProgress, replay_attack

__all__ = ["MOST", "ReplayState", "Replays"]

MOST = 10_000
"""Submissions of one replay at most."""

_log = logging.getLogger("tacit.server")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayState:
    """Where the latest replay of a competition stands.

    Examples
    --------
    >>> ReplayState(running=False, progress=None, result=None, error="stopped").to_json()["error"]
    'stopped'
    """

    running: bool
    progress: ReplayProgress | None
    result: Replay | None
    error: str | None

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON; no label is in it.

        Examples
        --------
        >>> ReplayState(running=True, progress=None, result=None, error=None).to_json()["running"]
        True
        """
        return {
            "running": self.running,
            "progress": None if self.progress is None else asdict(self.progress),
            "result": None if self.result is None else self.result.to_json(),
            "error": self.error,
        }


class Replays:
    """The replays of one server; all of it is gone when the server stops.

    Examples
    --------
    >>> from tacit.server.demo import toy
    >>> replays = Replays()
    >>> with toy() as engine:
    ...     replays.start(engine, "coins", submissions=2)
    ...     replays.wait("coins")
    ...     replays.state("coins").result.submissions
    2
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._states: dict[str, ReplayState] = {}
        self._threads: dict[str, threading.Thread] = {}

    def state(self, slug: str) -> ReplayState | None:
        """Return how the latest replay stands; None where there was none."""
        return self._states.get(slug)

    def start(self, engine: Engine, slug: str, *, submissions: int | None = None) -> None:
        """Begin a replay in the background."""
        made = engine.board(slug).setting.budget.per_team if submissions is None else submissions
        if not 1 <= made <= MOST:
            raise InvalidInput(f"submissions must be from 1 to {MOST:,} for a replay, got {made:,}")
        with self._lock:
            if any(state.running for state in self._states.values()):
                raise Conflict("a replay is running already; wait until it is over")
            self._states[slug] = ReplayState(running=True, progress=None, result=None, error=None)
            thread = threading.Thread(target=self._run, args=(engine, slug, made), daemon=True, name=f"replay {slug}")
            self._threads[slug] = thread
            thread.start()

    def wait(self, slug: str) -> None:
        """Return when the latest replay is over."""
        self._threads[slug].join()

    def _run(self, engine: Engine, slug: str, submissions: int) -> None:
        def look(progress: ReplayProgress) -> None:
            self._states[slug] = ReplayState(running=True, progress=progress, result=None, error=None)

        result: Replay | None = None
        error: str | None = None
        try:
            result = replay_attack(engine, slug, submissions=submissions, rng=np.random.default_rng(), progress=look)
        except TacitError as refusal:
            error = str(refusal)
        except Exception as failure:
            _log.error("a replay failed: %s", type(failure).__name__)  # a traceback may hold labels
            error = "the replay failed; this was logged"
        last = self._states[slug].progress
        self._states[slug] = ReplayState(running=False, progress=last, result=result, error=error)
