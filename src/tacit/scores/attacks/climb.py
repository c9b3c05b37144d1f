"""An attack on a leaderboard that shows only improvements: submit a guess with some uncertain labels changed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.rounding import check_count
from tacit.scores.attacks.design import Labels
from tacit.scores.attacks.errors import OracleError
from tacit.scores.attacks.posterior import ScoreReading, label_posterior
from tacit.scores.attacks.reconstruct import CandidatePredictions

__all__ = ["climb_labels"]

Floats = NDArray[np.float64]

_LOOKS = 10


def climb_labels(
    ask: Callable[[Labels], ScoreReading],
    prior: ArrayLike,
    *,
    menu: CandidatePredictions,
    queries: int,
    step: float,
    rng: np.random.Generator,
    progress: Callable[[int, Floats], None] | None = None,
) -> Floats:
    """Return the probability of every label after a number of answers of a Ladder, (rows, labels).

    Each query is the best guess so far with the labels of some uncertain rows changed, so many that an improvement by
    more than the step is as likely as it can be; what improves is kept. A row that was turned in an improvement by
    d of m turned rows keeps its new label with probability (1 + d/m)/2.

    Parameters
    ----------
    ask
        Submits the predictions of the menu that are chosen for the rows, and reads the answer.
    queries
        Answers to ask for; an :class:`OracleError` of ``ask`` ends the attack with what there is.
    step
        By how much the sum of losses must fall for the answer to change.

    References
    ----------
    Blum and Hardt (2015), Section 4: the boosting attack, one improvement at a time.
    """
    beliefs = label_posterior([], prior, losses=menu.losses)
    check_count(queries, name="queries")
    looks = {round(queries * look / _LOOKS) for look in range(1, _LOOKS + 1)}
    best: ScoreReading | None = None
    for count in range(1, queries + 1):
        try:
            answer = ask(beliefs.argmax(axis=1) if best is None else _turned(beliefs, step / menu.span, rng))
        except OracleError:
            break
        if np.isfinite(answer.high):
            if best is not None:
                beliefs = _kept(beliefs, answer, gained=(best.low - answer.low) / menu.span)
            best = answer
        if progress is not None and count in looks:
            progress(count, beliefs)
    return beliefs


def _kept(beliefs: Floats, answer: ScoreReading, *, gained: float) -> Floats:
    """Return beliefs whose likeliest labels are those of a submission that improved."""
    turned = np.flatnonzero(beliefs.argmax(axis=1) != answer.choice)
    sure = min(0.99, max(0.51, (1 + gained / max(1, len(turned))) / 2))
    beliefs = beliefs.copy()
    beliefs[turned] *= ((1 - sure) / (1 - beliefs[turned, answer.choice[turned]]))[:, None]
    beliefs[turned, answer.choice[turned]] = sure
    return beliefs


def _turned(beliefs: Floats, step: float, rng: np.random.Generator) -> Labels:
    """Return the likeliest labels with some turned to the second likeliest: the number that most often gains a step."""
    order = np.argsort(-beliefs, axis=1, kind="stable")[:, :2]
    best = np.take_along_axis(beliefs, order, axis=1)
    doubt = best[:, 1] / best.sum(axis=1)
    rows = np.argsort(-(doubt + 1e-9 * rng.random(len(doubt))), kind="stable")
    u = doubt[rows]
    # half of a pool is turned: the loss changes by 1 - 2u each on average
    mean, variance = np.cumsum(1 - 2 * u) / 2, np.cumsum(4 * u * (1 - u)) / 2 + 1e-9
    pool = rows[: int(np.argmin((step + mean) / np.sqrt(variance))) + 1]
    turned = pool[rng.random(len(pool)) < 0.5]
    choice = order[:, 0].copy()
    choice[turned] = order[turned, 1]
    return choice
