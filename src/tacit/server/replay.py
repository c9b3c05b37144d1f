"""The real attack, over HTTP, against a copy of a competition: what one team could have recovered."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.leak.prior import calibrated_prior
from tacit.privacy.errors import InvalidInput, TacitError
from tacit.privacy.rounding import check_count
from tacit.scores.attacks.competition import AttackResult, Tell, attack_competition, attack_final_score
from tacit.server.board import CompetitionBoard
from tacit.server.client import ServerClient, ServerUnreachable
from tacit.server.engine import ScoringEngine

__all__ = ["ReplayProgress", "ReplayResult", "Serving", "prior_of", "replay_attack"]

Serving = Callable[[ScoringEngine], AbstractContextManager[str]]
"""Serves an engine while a block runs, and gives its address: :func:`tacit.server.app.running`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayProgress:
    """The progress of a replay."""

    submissions: int
    planned: int
    recovered: float
    baseline: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayResult:
    """What a replay measured.

    Parameters
    ----------
    rows
        Labels to recover, those behind public scores and the others.
    """

    attack: str
    submissions: int
    rows: int
    recovered: float
    baseline: float
    seconds: float

    @property
    def gained(self) -> float:
        """Recovered beyond the baseline."""
        return self.recovered - self.baseline

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as plain JSON."""
        return asdict(self) | {"gained": self.gained}


def replay_attack(
    engine: ScoringEngine,
    slug: str,
    *,
    serving: Serving,
    submissions: int | None = None,
    prior: NDArray[np.float64] | None = None,
    rng: np.random.Generator,
    progress: Callable[[ReplayProgress], None] | None = None,
) -> ReplayResult:
    """Attack a copy of a competition over HTTP, as one team, and measure what it recovers.

    The copy has the same labels, metric, policy and split, is served on a port of this machine, and is gone
    afterwards; the competition's ledger is charged nothing. Where the final ranking has rows of its own, the attacker's
    last submission is aimed at them, the copy is closed, and its final score is used as well. The attacker knows the
    features, what a model learns from them (:func:`prior_of`), the rules, and the scores it is shown.

    Parameters
    ----------
    serving
        Serves the copy.
    submissions
        How many the attacker makes; default: a team's whole budget. The daily limit is lifted.
    prior
        (rows, classes): what the attacker believes of the labels beforehand; default: what the features say, by
        :func:`prior_of`.
    """
    board = engine.board(slug)
    budget = board.rules.plan.submissions if submissions is None else check_count(submissions, name="submissions")
    prior = prior_of(board) if prior is None else prior
    truth = board.labels.codes.astype(np.int64)
    baseline = float((prior.argmax(axis=1) == truth).mean())

    def tell(made: int, planned: int, guess: NDArray[np.int64]) -> None:
        if progress is not None:
            right = float((guess == truth).mean())
            progress(ReplayProgress(submissions=made, planned=planned, recovered=right, baseline=baseline))

    tell(0, budget, prior.argmax(axis=1))
    start = time.perf_counter()
    with engine.copy_for_replay(slug, submissions=budget) as copy, serving(copy) as url:
        found = _attack(copy, slug, url, board, prior=prior, submissions=budget, rng=rng, tell=tell)
    return ReplayResult(
        attack=found.attack,
        submissions=found.submissions,
        rows=len(truth),
        recovered=float((found.labels == truth).mean()),
        baseline=baseline,
        seconds=time.perf_counter() - start,
    )


def _attack(
    copy: ScoringEngine,
    slug: str,
    url: str,
    board: CompetitionBoard,
    *,
    prior: NDArray[np.float64],
    submissions: int,
    rng: np.random.Generator,
    tell: Tell,
) -> AttackResult:
    """Attack the live scores; in a split competition the last submission is kept for the final score."""
    rules = board.rules
    final = rules.is_split and submissions > 1
    token = copy.register(copy.invite(slug), name="Attacker").token
    with ServerClient(url=url, token=token) as client, ServerClient(url=url, token=copy.new_admin_token()) as host:

        def submit(predictions: ArrayLike) -> str:
            try:
                return client.submit(slug, predictions)
            except ServerUnreachable as error:  # an attack that broke off must not pass for one that found little
                raise TacitError(f"the replay was interrupted and has no result: {error}") from None

        def submit_last(predictions: ArrayLike) -> str:
            submit(predictions)
            return str(host.call("POST", f"/competitions/{slug}/final")[0]["text"])

        live = submissions - final
        found = attack_competition(
            submit,
            board.metric,
            rules.policy,
            public_fraction=rules.public_fraction,
            prior=prior,
            submissions=live,
            rng=rng,
            progress=tell,
        )
        if final and found.submissions == live:
            found = attack_final_score(
                submit_last,
                board.metric,
                rules.final_policy,
                private_fraction=1 - rules.public_fraction,
                before=found,
                prior=prior,
                rng=rng,
            )
            tell(found.submissions, submissions, found.labels)
        return found


def prior_of(board: CompetitionBoard) -> NDArray[np.float64]:
    """Return calibrated beliefs about a competition's labels by the features alone, for the host."""
    codes = board.labels.codes
    classes = board.metric.classes or 2
    if not np.isin(codes, np.arange(classes)).all():
        raise InvalidInput("must be classes for an attack to be replayed: these are numbers of a range", field="labels")
    labels = codes.astype(np.int64)
    return calibrated_prior(board.matrix, labels, classes=classes)
