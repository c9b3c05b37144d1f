"""Run an attack against a host: ask, count, keep, resume, and stop with what was recovered."""

from __future__ import annotations

import hashlib
import json
import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tacit.leak import Leak, leak_from_guesses
from tacit.privacy.errors import InvalidInput, TacitError
from tacit.privacy.files import ReplaceableFile, write_atomically
from tacit.scores.attacks.design import Labels, ScoreQuery, Steps
from tacit.scores.attacks.errors import InconsistentAnswer, OracleError
from tacit.scores.attacks.planning import AttackPlan
from tacit.scores.losses import check_labels
from tacit.scores.losses.precision import Numbers

__all__ = ["STATE", "AttackProgress", "AttackStopped", "Oracle", "RecoveredLabels", "check_rows", "infer_labels"]

_STATE_VERSION = 1
STATE = ReplaceableFile("the state of an attack", re.compile(rb'\A\{"version": \d+, "plan": "'))
"""What a new state may replace."""
_MOST_ROWS = 10**8  # labels and predictions of all rows are in memory, several times over

Oracle = Callable[[Numbers], float]
"""Takes predictions, one row for each row of the host, and returns the score that the host shows."""


class AttackProgress(NamedTuple):
    """The progress of an attack, reported before each query."""

    queries: int
    planned: int
    recovered: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecoveredLabels:
    """Labels with -1 where unknown, the queries that it took, and the seconds."""

    labels: Labels
    classes: int
    queries: int
    seconds: float

    @property
    def recovered(self) -> int:
        """Number of labels known."""
        return int(np.count_nonzero(self.labels >= 0))

    @property
    def left(self) -> int:
        """Number of labels not known."""
        return len(self.labels) - self.recovered

    def leak(self, truth: ArrayLike, *, baseline: float | ArrayLike | None = None) -> Leak:
        """Measure the recovered labels against the truth.

        Parameters
        ----------
        baseline
            What was known without any score: a rate, or guesses for every row; default: the share of the
            largest class.
        """
        given = check_labels(truth, classes=self.classes, rows=len(self.labels))
        if baseline is None:
            baseline = float(np.bincount(given).max() / len(given))
        return leak_from_guesses(self.labels, given, baseline=baseline)


class AttackStopped(TacitError):
    """The attack ended early; ``outcome`` holds the labels recovered so far."""

    def __init__(self, message: str, *, outcome: RecoveredLabels) -> None:
        super().__init__(message)
        self.outcome = outcome


def infer_labels(
    oracle: Oracle,
    plan: AttackPlan,
    *,
    order: Labels | None = None,
    state: Path | None = None,
    host: str = "",
    progress: Callable[[AttackProgress], None] | None = None,
) -> RecoveredLabels:
    """Recover the labels of a host from the scores it shows.

    Parameters
    ----------
    oracle
        The host: takes predictions, returns the score. :class:`HttpOracle` is one.
    plan
        How to ask, from :func:`plan_attack`.
    order
        The rows, in the order to ask for them; default: their own order.
    state
        A file to keep what was recovered in. If it exists, the attack goes on from there.
    host
        The identity of this host: a state file of another host is rejected. Default: the caller ensures that.

    Raises
    ------
    AttackStopped
        If the host fails, or shows what no labels give; its ``outcome`` holds what was recovered.

    References
    ----------
    Aggarwal et al. (2021), Algorithm LABELINF, with decoding in O(rows) instead of a search.
    """
    check_rows(plan.rows)
    if order is not None and not np.array_equal(np.sort(np.asarray(order)), np.arange(plan.rows)):
        raise InvalidInput(f"must have every row 0..{plan.rows - 1} once", field="order")
    run = _AttackRun(plan, oracle, order, state, progress, host=host)
    start = time.perf_counter()
    try:
        labels = run.to_the_end()
    except OracleError as error:
        outcome = run.outcome(run.recovered, start)
        raise AttackStopped(run.why(error, outcome), outcome=outcome) from error
    return run.outcome(labels, start)


def check_rows(rows: int) -> None:
    """Raise if so many labels cannot be recovered in memory."""
    if rows > _MOST_ROWS:
        raise InvalidInput(f"must be at most {_MOST_ROWS:,} for an attack, got {rows:,}", field="rows")


class _AttackRun:
    """One pass through a plan's queries: answers of an earlier run first, then the host's."""

    def __init__(
        self,
        plan: AttackPlan,
        oracle: Oracle,
        order: Labels | None,
        state: Path | None,
        progress: Callable[[AttackProgress], None] | None,
        *,
        host: str,
    ) -> None:
        self.plan = plan
        self.oracle = oracle
        self.state = state
        self.progress = progress
        self.identity = f"{plan.metric!r} {plan.design.identity} {None if order is None else order.tolist()}{host}"
        self.steps: Steps = plan.steps(order=order)
        self.answers = [] if state is None else _read_answers(state, plan=self.identity)
        self.kept = len(self.answers)
        self.asked = 0
        self.recovered: Labels = np.full(plan.rows, -1, dtype=np.int64)

    def to_the_end(self) -> Labels:
        query = next(self.steps)
        while True:
            self.recovered = query.recovered
            answer = self._answer(query)
            try:
                query = self.steps.send(answer)
            except StopIteration as end:
                self.recovered = end.value
                self._keep()
                return self.recovered
            self._keep(query.recovered)

    def outcome(self, labels: Labels, start: float) -> RecoveredLabels:
        seconds = time.perf_counter() - start
        return RecoveredLabels(labels=labels, classes=self.plan.classes, queries=self.asked, seconds=seconds)

    def why(self, error: OracleError, outcome: RecoveredLabels) -> str:
        text = str(error)
        if isinstance(error, InconsistentAnswer) and len(self.answers) > 2 and len(set(self.answers)) == 1:
            text = f"the host answers {self.answers[0]!r} to every query"
        kept = "" if self.state is None else f"; run again with {self.state.name} to go on from there"
        return (
            f"attack stopped at query {self.asked}: {text}; {outcome.recovered} of {self.plan.rows} labels "
            f"recovered, {outcome.left} left{kept}"
        )

    def _answer(self, query: ScoreQuery) -> float:
        if self.progress is not None:
            done = int(np.count_nonzero(query.recovered >= 0))
            self.progress(AttackProgress(self.asked, self.plan.queries, done, self.plan.rows))
        self.asked += 1
        if self.asked <= self.kept:
            return self.answers[self.asked - 1]
        answer = _number(self.oracle, query.predictions)
        self.answers.append(answer)
        return answer

    def _keep(self, labels: Labels | None = None) -> None:
        if self.state is not None and self.asked > self.kept:
            known = self.recovered if labels is None else labels
            _write_state(self.state, plan=self.identity, answers=self.answers, labels=known)


def _number(oracle: Oracle, predictions: Numbers) -> float:
    try:
        answer = oracle(predictions)
    except TacitError:
        raise
    except Exception as error:
        raise OracleError(f"the host failed with {type(error).__name__}: {' '.join(str(error).split())}") from error
    try:
        value = float(answer)
    except (TypeError, ValueError):
        raise OracleError(f"the host answered {str(answer)[:80]!r} instead of a number") from None
    if not math.isfinite(value):
        raise OracleError(f"the host answered {value} instead of a finite number")
    return value


def _read_answers(path: Path, *, plan: str) -> list[float]:
    """Return the answers that an earlier run of the same plan got, none if there is no file or an empty one."""
    if not path.exists() or not path.stat().st_size:
        return []
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        version, digest = document["version"], document["plan"]
        answers = [float(answer) for answer in document["answers"]]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInput(
            f"state file {path.name} is damaged, or of another kind ({error!r}): name another file"
        ) from None
    if version != _STATE_VERSION:
        raise InvalidInput(f"state file {path.name} is of version {version!r}, this is {_STATE_VERSION}: delete it")
    if digest != _digest(plan):
        raise InvalidInput(f"state file {path.name} belongs to another host, plan or order of rows: name another file")
    return answers


def _write_state(path: Path, *, plan: str, answers: list[float], labels: Labels) -> None:
    """Write the answers and the labels they reveal (-1 if unknown), completely or not at all."""
    document = {"version": _STATE_VERSION, "plan": _digest(plan), "answers": answers, "labels": labels.tolist()}
    with write_atomically(path, force=True, mode=0o600, over=STATE) as file:  # labels are in it
        file.write(json.dumps(document).encode())


def _digest(plan: str) -> str:
    return hashlib.sha256(plan.encode()).hexdigest()
