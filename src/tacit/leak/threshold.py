"""Unbiased thresholds for an attack's scores: fixed beforehand, chosen on other scores, or corrected for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.leak.epsilon import epsilon_from_rates
from tacit.privacy.errors import InvalidInput

__all__ = [
    "FixedThreshold",
    "HeldOut",
    "ThresholdRule",
    "ThresholdScores",
    "UnionBoundThresholds",
    "best_threshold",
    "count_at_or_above",
]

_CANDIDATES = 128  # ranks from either end of the scores that HeldOut tries

Scores = NDArray[np.float64]


class ThresholdScores(NamedTuple):
    """Thresholds to evaluate, and the scores (sorted upwards) they may be evaluated on."""

    thresholds: Scores
    members: Scores
    nonmembers: Scores


class ThresholdRule(Protocol):
    """A way to choose the threshold; a score at or above it is a guess of "member"."""

    def cut(self, members: Scores, nonmembers: Scores, *, level: float, delta: float) -> ThresholdScores:
        """Return the thresholds, and the scores left to evaluate them on; both sides come sorted upwards."""
        ...


@dataclass(frozen=True, slots=True)
class FixedThreshold:
    """A threshold that was fixed before these scores were seen."""

    value: float

    def __post_init__(self) -> None:
        if np.isnan(self.value):
            raise InvalidInput("must be a number, got NaN: fix the threshold before looking", field="value")

    def cut(self, members: Scores, nonmembers: Scores, *, level: float, delta: float) -> ThresholdScores:  # noqa: ARG002
        """Return the one threshold and all scores."""
        return ThresholdScores(np.array([self.value], dtype=np.float64), members, nonmembers)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeldOut:
    """Choose the threshold on a random part of the scores and measure on the rest."""

    fraction: float = 0.5
    rng: np.random.Generator

    def __post_init__(self) -> None:
        if not 0 < self.fraction < 1:
            raise InvalidInput(f"must be in (0, 1), got {self.fraction!r}", field="fraction")

    def cut(self, members: Scores, nonmembers: Scores, *, level: float, delta: float) -> ThresholdScores:
        """Return the threshold with the largest epsilon bound on the held-out part, and the rest of the scores."""
        choose_in, rest_in = self._split(members, "members")
        choose_out, rest_out = self._split(nonmembers, "nonmembers")
        candidates = np.unique(np.concatenate([_spread(choose_in), _spread(choose_out)]))
        best = best_threshold(ThresholdScores(candidates, choose_in, choose_out), level=level, delta=delta)
        return ThresholdScores(candidates[best : best + 1], rest_in, rest_out)

    def _split(self, scores: Scores, name: str) -> tuple[Scores, Scores]:
        chosen = round(self.fraction * len(scores))
        if not 0 < chosen < len(scores):
            raise InvalidInput(
                f"{name} must be enough to split at fraction {self.fraction:g}, got {len(scores)}: "
                "give more scores or a FixedThreshold"
            )
        mask = np.zeros(len(scores), dtype=np.bool_)
        mask[self.rng.permutation(len(scores))[:chosen]] = True
        return scores[mask], scores[~mask]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnionBoundThresholds:
    """Try every threshold of a list that was fixed beforehand, and correct for the choice by a union bound.

    Each of G thresholds is measured at confidence 1 - (1 - level)/G, so that all hold at once.
    """

    thresholds: tuple[float, ...]

    def __post_init__(self) -> None:
        thresholds = tuple(float(t) for t in np.unique(np.asarray(self.thresholds, dtype=np.float64)))
        if not thresholds or np.isnan(thresholds).any():
            raise InvalidInput(f"must be one number or more, without NaN, got {self.thresholds!r}", field="thresholds")
        object.__setattr__(self, "thresholds", thresholds)

    def cut(self, members: Scores, nonmembers: Scores, *, level: float, delta: float) -> ThresholdScores:  # noqa: ARG002
        """Return all thresholds and all scores."""
        return ThresholdScores(np.array(self.thresholds), members, nonmembers)


def best_threshold(cut: ThresholdScores, *, level: float, delta: float) -> int:
    """Return the index of the threshold with the largest bound on epsilon; on a tie, with the largest advantage."""
    inside, outside = (count_at_or_above(s, cut.thresholds) for s in (cut.members, cut.nonmembers))
    positives, negatives = len(cut.members), len(cut.nonmembers)
    epsilon = epsilon_from_rates(inside, positives, outside, negatives, delta=delta, level=level)
    advantage = inside / positives - outside / negatives
    return int(np.lexsort((advantage, np.asarray(epsilon)))[-1])


def count_at_or_above(scores: Scores, thresholds: Scores) -> NDArray[np.int64]:
    """Count the scores (sorted upwards) at or above each threshold."""
    return len(scores) - np.searchsorted(scores, thresholds, "left")


def _spread(scores: Scores) -> Scores:
    """At most 2 * _CANDIDATES of the scores, dense in rank at both ends: extreme thresholds give the largest bounds."""
    ranks = np.unique(np.geomspace(1, len(scores), _CANDIDATES).round().astype(np.int64))
    spread: Scores = scores[np.concatenate([len(scores) - ranks, ranks - 1])]
    return spread
