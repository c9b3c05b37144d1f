"""What features are ranked by: the distance of class means, or that distance in standard deviations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.features.mechanisms.box import STEPS
from tacit.features.mechanisms.moments import ClassMoments
from tacit.privacy.errors import InvalidInput

__all__ = ["SCORES", "FeatureScore", "MeanDistance", "TStatistic"]

Vector = NDArray[np.float64]


class FeatureScore(Protocol):
    """A score per feature whose movement by one record is bounded."""

    name: ClassVar[str]

    def scores(self, moments: ClassMoments, *, class_rows: NDArray[np.int64]) -> Vector:
        """Return one score per feature, in half widths of the box."""

    def sensitivity(self, *, class_rows: NDArray[np.int64]) -> float:
        """Return by how much replacing one record, label included, moves a score at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanDistance:
    """The largest distance between class means, of values clipped to the box and with fixed denominators.

    D_j = max over classes c, q of |S_cj/n_c - S_qj/n_q|, S the sums and n public numbers (or numbers released before).
    A record that keeps its class moves one sum by at most 2, one that changes its class two sums by at most 1, in half
    widths: at most 2/min n. With the data's own class sizes that would be false.

    References
    ----------
    The feature-release paper, Algorithm 1; formula sheet j3.
    """

    name: ClassVar[str] = "distance"

    def scores(self, moments: ClassMoments, *, class_rows: NDArray[np.int64]) -> Vector:
        """Return one score per feature, in half widths of the box."""
        means = moments.sums / (STEPS * class_rows[:, None].astype(np.float64))
        return np.asarray(means.max(axis=0) - means.min(axis=0))

    def sensitivity(self, *, class_rows: NDArray[np.int64]) -> float:
        """Return 2/min n."""
        return 2 / float(class_rows.min())


@dataclass(frozen=True, slots=True, kw_only=True)
class TStatistic:
    """The distance of class means divided by the pooled deviation within classes, with a public floor under it.

    T_j = D_j / sqrt(W_j + floor), W_j = Q_j/N - sum_c S_cj^2/(n_c N) clipped to [0, 1], N = sum n_c, each sum clipped
    to +- n_c. One record moves D_j by at most 2/min n and W_j by at most 5/N, and D_j <= 2, so it moves T_j by at most
    2/(min n sqrt(floor)) + 2 (floor^(-1/2) - (floor + 5/N)^(-1/2)). (The factor 1/sqrt(1/n_1 + 1/n_2) of the usual
    statistic is the same for all features of a pair and is left out.)

    Parameters
    ----------
    floor
        The least variance counted, as a share of the squared half width; a larger one means less noise.

    References
    ----------
    Fan and Fan (2008), Section 3. Proof: docs/proofs/features.md.
    """

    name: ClassVar[str] = "t"
    floor: float = 1 / 16

    def __post_init__(self) -> None:
        if not (math.isfinite(self.floor) and 0 < self.floor <= 1):
            raise InvalidInput(f"must be in (0, 1], got {self.floor!r}", field="floor")

    def scores(self, moments: ClassMoments, *, class_rows: NDArray[np.int64]) -> Vector:
        """Return one score per feature."""
        n = class_rows[:, None].astype(np.float64)
        sums = np.clip(moments.sums / STEPS, -n, n)
        means = sums / n
        within = np.clip((moments.squares / STEPS - (sums**2 / n).sum(axis=0)) / n.sum(), 0.0, 1.0)
        return np.asarray((means.max(axis=0) - means.min(axis=0)) / np.sqrt(within + self.floor))

    def sensitivity(self, *, class_rows: NDArray[np.int64]) -> float:
        """Return the bound above."""
        move = 5 / float(class_rows.sum())
        spread = math.sqrt(self.floor)
        return 2 / (float(class_rows.min()) * spread) + 2 * (1 / spread - 1 / math.sqrt(self.floor + move))


SCORES: dict[str, FeatureScore] = {score.name: score for score in (MeanDistance(), TStatistic())}
"""What a plan's ``score`` names."""
