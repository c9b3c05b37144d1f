"""The real attack, over HTTP, against a copy of a competition: what teams that share their scores recover."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.leak.prior import calibrated_prior
from tacit.privacy.errors import InvalidInput, TacitError
from tacit.privacy.rounding import check_count
from tacit.scores.attacks.competition import AttackResult, Tell, attack_competition, attack_final_scores
from tacit.server.board import CompetitionBoard
from tacit.server.client import ServerClient, ServerUnreachable
from tacit.server.engine import ScoringEngine

__all__ = ["ReplayProgress", "ReplayResult", "Serving", "prior_of", "replay_attack"]

Serving = Callable[[ScoringEngine], AbstractContextManager[str]]
_SURE = 0.95
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
    teams, submissions
        How many teams shared their scores, and how many submissions they made in all.
    rows
        Labels to recover, those behind public scores and the others.
    exposed
        Labels that the attackers know now and did not know from the features: with a chance above 95%, and rightly.
    """

    attack: str
    teams: int
    submissions: int
    rows: int
    recovered: float
    baseline: float
    exposed: int
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
    teams: int = 1,
    prior: NDArray[np.float64] | None = None,
    rng: np.random.Generator,
    progress: Callable[[ReplayProgress], None] | None = None,
) -> ReplayResult:
    """Attack a copy of a competition over HTTP, as teams that share their scores, and measure what they recover.

    The copy has the same labels, metric, policy and split, is served on a port of this machine, and is gone
    afterwards; the competition's ledger is charged nothing. Where the final ranking has rows of its own, each
    attacker's last submission is aimed at them, the copy is closed, and the final scores are used as well. The
    attackers know the features, what a model learns from them (:func:`prior_of`), the rules, and the scores they are
    shown.

    Parameters
    ----------
    serving
        Serves the copy.
    submissions
        How many each team makes; default: its whole budget. The daily limit is lifted.
    teams
        How many teams share their scores; one under a policy whose answers depend on earlier ones.
    prior
        (rows, classes): what the attackers believe of the labels beforehand; default: what the features say, by
        :func:`prior_of`.
    """
    board = engine.board(slug)
    budget = board.rules.plan.submissions if submissions is None else check_count(submissions, name="submissions")
    teams = check_count(teams, name="teams") if board.rules.policy.stateless else 1
    prior = prior_of(board) if prior is None else prior
    truth = board.labels.codes.astype(np.int64)
    baseline = float((prior.argmax(axis=1) == truth).mean())

    def tell(made: int, planned: int, guess: NDArray[np.int64]) -> None:
        if progress is not None:
            right = float((guess == truth).mean())
            progress(ReplayProgress(submissions=made, planned=planned, recovered=right, baseline=baseline))

    tell(0, teams * budget, prior.argmax(axis=1))
    start = time.perf_counter()
    with engine.copy_for_replay(slug, submissions=budget, teams=teams) as copy, serving(copy) as url:
        attackers = _AttackingTeams(copy, slug, url, teams=teams, submissions=budget)
        found = attackers.attack(board, prior=prior, rng=rng, tell=tell)
    exposed = (found.labels == truth) & (found.after.max(axis=1) > _SURE) & (prior.max(axis=1) <= _SURE)
    return ReplayResult(
        attack=found.attack,
        teams=teams,
        submissions=found.submissions,
        rows=len(truth),
        recovered=float((found.labels == truth).mean()),
        baseline=baseline,
        exposed=int(exposed.sum()),
        seconds=time.perf_counter() - start,
    )


class _AttackingTeams:
    """Teams of a copy that share their scores: one after the other uses its live scores, and all get a final one."""

    def __init__(self, copy: ScoringEngine, slug: str, url: str, *, teams: int, submissions: int) -> None:
        self._copy, self._slug, self._url = copy, slug, url
        self._tokens = [copy.register(copy.invite(slug), name=f"Attacker {team}").token for team in range(teams)]
        answers = copy.competition(slug).answers
        self._final = copy.board(slug).rules.is_split and (submissions > 1 or answers is not None)
        self._each = submissions - self._final if answers is None else answers
        self._made = itertools.count()

    def attack(
        self, board: CompetitionBoard, *, prior: NDArray[np.float64], rng: np.random.Generator, tell: Tell
    ) -> AttackResult:
        """Attack the live scores; in a split competition each team's last submission is kept for its final score."""
        rules, live = board.rules, len(self._tokens) * self._each
        with ServerClient(url=self._url) as self._client:
            found = _nothing_asked(prior, share=rules.public_fraction)
            if live:
                found = attack_competition(
                    self._submit,
                    board.metric,
                    rules.policy,
                    public_fraction=rules.public_fraction,
                    prior=prior,
                    submissions=live,
                    rng=rng,
                    progress=tell,
                )
            if self._final and found.submissions == live:
                found = attack_final_scores(
                    self._submit_last,
                    board.metric,
                    rules.final_policy,
                    private_fraction=1 - rules.public_fraction,
                    before=found,
                    prior=prior,
                    scores=len(self._tokens),
                    rng=rng,
                )
                tell(found.submissions, found.submissions, found.labels)
        return found

    def _submit(self, predictions: ArrayLike) -> str:
        return self._send(next(self._made) // self._each, predictions)

    def _submit_last(self, predictions: Sequence[ArrayLike]) -> list[str]:
        """Submit once as each team, close the copy, and return the final scores in the same order."""
        for team, one in enumerate(predictions):
            self._send(team, one)
        admin = self._copy.new_admin_token()
        places = self._client.call("POST", f"/competitions/{self._slug}/final", token=admin)
        shown = {place["team"]: str(place["text"]) for place in places}
        return [shown[f"Attacker {team}"] for team in range(len(predictions))]

    def _send(self, team: int, predictions: ArrayLike) -> str:
        try:
            return self._client.submit(self._slug, predictions, token=self._tokens[team])
        except ServerUnreachable as error:  # an attack that broke off must not pass for one that found little
            raise TacitError(f"the replay was interrupted and has no result: {error}") from None


def _nothing_asked(prior: NDArray[np.float64], *, share: float) -> AttackResult:
    """Return what is believed where no live score is shown."""
    beliefs = np.concatenate([prior * share, np.full((len(prior), 1), 1 - share)], axis=1)
    return AttackResult(
        labels=prior.argmax(axis=1), submissions=0, attack="no live score", after=prior, beliefs=beliefs
    )


def prior_of(board: CompetitionBoard) -> NDArray[np.float64]:
    """Return calibrated beliefs about a competition's labels by the features alone, for the host."""
    codes = board.labels.codes
    classes = board.metric.classes or 2
    if not np.isin(codes, np.arange(classes)).all():
        raise InvalidInput("must be classes for an attack to be replayed: these are numbers of a range", field="labels")
    labels = codes.astype(np.int64)
    return calibrated_prior(board.matrix, labels, classes=classes)
