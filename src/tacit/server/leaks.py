"""What a competition's rules leak: the forecast, and replays of the attack that run beside the server."""

from __future__ import annotations

import logging
import threading
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tacit.leak.prior import doubt_of
from tacit.privacy.errors import InvalidInput, TacitError
from tacit.server.board import CompetitionBoard
from tacit.server.engine import ScoringEngine
from tacit.server.errors import Conflict, NotFound
from tacit.server.forecast import LeakForecast, forecast
from tacit.server.replay import ReplayProgress, ReplayResult, Serving, prior_of, replay_attack

__all__ = ["MOST_SUBMISSIONS", "ReplayRunner", "ReplayState", "forecast_of"]

MOST_SUBMISSIONS = 10_000
"""Submissions of one replay, of all its teams."""

_log = logging.getLogger("tacit.server")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayState:
    """The state of the latest replay of a competition."""

    running: bool
    progress: ReplayProgress | None
    result: ReplayResult | None
    error: str | None

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON; no label is in it."""
        return {
            "running": self.running,
            "progress": None if self.progress is None else asdict(self.progress),
            "result": None if self.result is None else self.result.to_json(),
            "error": self.error,
        }


class ReplayRunner:
    """The replays of one server; all of it is gone when the server stops."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._lock = threading.Lock()
        self._states: dict[str, ReplayState] = {}
        self._threads: dict[str, threading.Thread] = {}

    def state(self, slug: str) -> ReplayState | None:
        """Return the state of the latest replay; None if there was none."""
        return self._states.get(slug)

    def state_json(self, slug: str) -> dict[str, Any]:
        """Return the state of the latest replay, or raise if there was none."""
        found = self.state(slug)
        if found is None:
            raise NotFound("no replay was started since the server began")
        return found.to_json()

    def start(
        self, engine: ScoringEngine, slug: str, *, submissions: int | None = None, teams: int | None = None
    ) -> None:
        """Begin a replay in the background; by default all teams that may join share all their scores."""
        rules = engine.board(slug).rules
        each = rules.plan.submissions if submissions is None else submissions
        if not 1 <= each <= MOST_SUBMISSIONS:
            raise InvalidInput(
                f"must be from 1 to {MOST_SUBMISSIONS:,} for a replay, got {each:,}", field="submissions"
            )
        together = min(rules.teams if teams is None else teams, max(1, MOST_SUBMISSIONS // each))
        with self._lock:
            if any(state.running for state in self._states.values()):
                raise Conflict("a replay is running already; wait until it is over")
            self._states[slug] = ReplayState(running=True, progress=None, result=None, error=None)
            thread = threading.Thread(
                target=self._run, args=(engine, slug, each, together), daemon=True, name=f"replay {slug}"
            )
            self._threads[slug] = thread
            thread.start()

    def wait(self, slug: str) -> None:
        """Return when the latest replay is over."""
        self._threads[slug].join()

    def _run(self, engine: ScoringEngine, slug: str, submissions: int, teams: int) -> None:
        def look(progress: ReplayProgress) -> None:
            self._states[slug] = ReplayState(running=True, progress=progress, result=None, error=None)

        result: ReplayResult | None = None
        error: str | None = None
        try:
            result = replay_attack(
                engine,
                slug,
                serving=self._serving,
                submissions=submissions,
                teams=teams,
                rng=np.random.default_rng(),
                progress=look,
            )
        except TacitError as refusal:
            error = str(refusal)
        except Exception as failure:
            _log.error("a replay failed: %s", type(failure).__name__)  # a traceback may hold labels
            error = "the replay failed; this was logged"
        last = self._states[slug].progress
        self._states[slug] = ReplayState(running=False, progress=last, result=result, error=error)


@lru_cache(maxsize=16)
def forecast_of(board: CompetitionBoard) -> LeakForecast:
    """Return what a competition's rules are expected to leak beyond what its features reveal."""
    rows = len(board.index)
    try:
        prior = prior_of(board)
    except InvalidInput:  # labels that are no classes
        return forecast(board.rules, board.metric, rows=rows)
    right = float((prior.argmax(axis=1) == board.labels.codes).mean())
    return forecast(board.rules, board.metric, rows=rows, doubt=doubt_of(prior), known=right)
