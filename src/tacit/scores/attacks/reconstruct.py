"""An attack on any protected mean: random hard predictions for uncertain rows, and Bayes' rule over all answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count
from tacit.scores.attacks.design import Labels
from tacit.scores.attacks.errors import OracleError
from tacit.scores.attacks.posterior import ScoreReading, label_posterior

__all__ = ["CandidatePredictions", "best_size", "expected_gain", "guess_labels", "rows_worth_asking"]

Floats = NDArray[np.float64]

_LOOKS = (0.1, 0.2, 0.4, 0.7, 1.0)  # shares of the answers after which progress is reported: each look starts again
_NODES, _WEIGHTS = hermegauss(31)
_BINS = 64
_MOST = 10**9  # numbers in the matrices of message passing


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CandidatePredictions:
    """The predictions an attacker submits for a row, and what each costs with each label.

    Parameters
    ----------
    losses
        (predictions, labels). The first predictions name one label each with certainty.
    neutral
        The prediction that costs the same whatever the label; None if the metric has none, as accuracy.
    unscored
        Whether the last label represents a row that the host does not score, so that no prediction names it.
    """

    losses: Floats
    neutral: int | None
    unscored: bool = False

    @property
    def floating(self) -> float | None:
        """The variance of an unknown number in all answers, beside what rows cost that are not asked for."""
        if self.unscored:
            return math.inf  # how many rows are scored is known about
        return 0.0 if self.neutral is None else None

    @property
    def span(self) -> float:
        """How much a row's label moves the sum of losses."""
        return float(np.ptp(self.losses, axis=1).max())


def guess_labels(
    ask: Callable[[Sequence[NDArray[np.int8]]], Iterable[ScoreReading]],
    prior: ArrayLike,
    *,
    menu: CandidatePredictions,
    queries: int,
    deviation: float,
    rng: np.random.Generator,
    progress: Callable[[int, Floats], None] | None = None,
) -> Floats:
    """Return the probability of every label after a number of answers, (rows, labels).

    The attack starts from beliefs by the features, takes as many uncertain rows as the answers can decide, and predicts
    for each of them one of its likely labels at random. For the others its prediction is neutral, or constant if the
    metric has no neutral prediction. (Rounds that ask again for uncertain rows did worse.)

    Parameters
    ----------
    ask
        Submits, for each choice of predictions of the menu for the rows, these predictions, and reads the answers. No
        query depends on an earlier answer, so that they may be asked at once.
    queries
        Answers to ask for; an :class:`OracleError` of ``ask`` ends the attack with what there is.
    deviation
        Standard deviation of an answer's noise, in units of the sum of losses.
    """
    start = label_posterior([], prior, losses=menu.losses)
    size = check_count(queries, name="queries") * len(start) * len(menu.losses)
    if size > _MOST:
        raise InvalidInput(
            f"must be at most {_MOST // (len(start) * len(menu.losses)):,} for all answers on {len(start):,} rows to "
            f"be weighed together, got {queries:,}",
            field="submissions",
        )
    if not (math.isfinite(deviation) and deviation >= 0):
        raise InvalidInput(f"must be a finite number >= 0, got {deviation!r}", field="deviation")
    asked = start[:, :-1] if menu.unscored else start
    rows = rows_worth_asking(asked, queries=queries, deviation=deviation, span=menu.span)
    ends = sorted({round(queries * share) for share in _LOOKS} - {0})
    readings: list[ScoreReading] = []
    beliefs = start
    for end in ends if progress is not None else ends[-1:]:
        wanted = end - len(readings)
        try:
            readings.extend(ask([_choose(start, rows, menu, rng) for _ in range(wanted)]))  # keeps what came before
        except OracleError:
            wanted = -1
        beliefs = label_posterior(readings, start, losses=menu.losses, floating=menu.floating)
        if progress is not None:
            progress(len(readings), beliefs)
        if wanted < 0:
            break
    return beliefs


def rows_worth_asking(beliefs: Floats, *, queries: int, deviation: float, span: float) -> Labels:
    """Return the rows to ask for together, so that the most labels are expected to come out right.

    Few rows are decided surely, many rows blur each other. For the k rows most uncertain, the expected gain follows
    from the fixed point of message passing: each label is seen as if through Gaussian noise of precision
    Q span^2 / (noise^2 + span^2 sum of the rows' remaining variances).
    """
    best = np.sort(beliefs, axis=1)[:, ::-1][:, :2]
    odds = best[:, 1] / best.sum(axis=1)
    order = np.argsort(-odds, kind="stable")
    order = order[odds[order] > 1e-5]
    size, _ = best_size(odds[order], queries=queries, noise=(deviation / span) ** 2)
    return np.sort(order[:size])


def best_size(odds: Floats, *, queries: int, noise: float) -> tuple[int, float]:
    """Return how many rows to ask for together, those most uncertain, and what that is expected to gain."""
    if not len(odds):
        return 0, 0.0
    sizes = np.unique(np.geomspace(min(8, len(odds)), len(odds), 40).astype(int))
    gains = [expected_gain(odds[:size], queries=queries, noise=noise) for size in sizes]
    best = int(np.argmax(gains))
    return int(sizes[best]), gains[best]


def expected_gain(odds: Floats, *, queries: int, noise: float) -> float:
    """Return how many more labels are expected to be right than by guessing each row's likelier one.

    Parameters
    ----------
    odds
        For each row asked for, the chance of its second likeliest label against the likeliest, at most 1/2.
    noise
        Variance of an answer's noise, in units of what one label moves.
    """
    counts, edges = np.histogram(odds, bins=_BINS, range=(0.0, 0.5))
    u = np.maximum((edges[1:] + edges[:-1]) / 2, 1e-6)
    variance = float(counts @ (u * (1 - u)))
    for _ in range(60):
        precision = queries / (noise + variance)
        right, rest = _seen_through(u, precision)
        new = float(counts @ rest)
        if abs(new - variance) <= 1e-3 * variance:
            break
        variance = new
    return float(counts @ (right - (1 - u)))


def _seen_through(u: Floats, precision: float) -> tuple[Floats, Floats]:
    """Return how often the better guess of a 0/1 label of chance u is right, and its mean posterior variance."""
    prior = np.log(u / (1 - u))
    half, root = precision / 2, math.sqrt(precision)
    right = u * ndtr((half + prior) / root) + (1 - u) * ndtr((half - prior) / root)
    rest = np.zeros_like(u)
    for label, chance in ((1, u), (0, 1 - u)):
        evidence = prior[:, None] + (label - 0.5) * precision + root * _NODES[None, :]
        posterior = 1 / (1 + np.exp(-np.clip(evidence, -700, 700)))
        rest += chance * ((posterior * (1 - posterior)) @ _WEIGHTS) / _WEIGHTS.sum()
    return right, rest


def _choose(beliefs: Floats, rows: Labels, menu: CandidatePredictions, rng: np.random.Generator) -> NDArray[np.int8]:
    """Return one of the menu for every row: a likely label at random where it is asked for."""
    choice = np.full(len(beliefs), menu.neutral or 0, dtype=np.int8)  # many are kept: small
    if menu.unscored:
        beliefs = beliefs[:, :-1] / beliefs[:, :-1].sum(axis=1, keepdims=True)
    if menu.neutral is None:
        choice = beliefs.argmax(axis=1).astype(np.int8)
    if len(rows):
        order = np.argsort(-beliefs[rows], axis=1, kind="stable")
        likely = 1 + (np.sort(beliefs[rows], axis=1)[:, ::-1].cumsum(axis=1)[:, :-1] < 0.98).sum(axis=1)
        drawn = (rng.random(len(rows)) * np.maximum(2, likely)).astype(np.int64)
        choice[rows] = order[np.arange(len(rows)), drawn]
    return choice
