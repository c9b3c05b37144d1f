"""When the features with a difference are the ones selected: a bound for the rows at hand, not only in the limit."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar

from tacit.features.mechanisms.selected_share import mean_gap_tail
from tacit.privacy.errors import InvalidInput
from tacit.privacy.loss.search import least_enough
from tacit.privacy.rounding import check_count

__all__ = ["SelectionMargin", "selection_margin"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionMargin:
    """How surely every feature that differs scores above every feature that does not.

    Parameters
    ----------
    threshold
        The y of Theorem 8's proof that separates best.
    failure
        A bound on the probability that some other feature is selected.
    margin
        The least gap less the least gap for which ``failure`` would be the level asked for; positive: consistent.

    Examples
    --------
    >>> SelectionMargin(threshold=0.5, failure=0.01, margin=0.1).consistent
    True
    """

    threshold: float
    failure: float
    margin: float

    @property
    def consistent(self) -> bool:
        """Whether the condition holds at the level that was asked for."""
        return bool(self.margin > 0)


def selection_margin(
    gaps: ArrayLike, *, others: int, deviation: float, rows: tuple[int, int], noise: float = 0.0, level: float = 0.05
) -> SelectionMargin:
    """Bound the probability that selection by the distance of class means takes a feature without a difference.

    The means' distance of feature j is D_j ~ N(alpha_j, s^2 (1/n1 + 1/n2)). For every y the selection is right if
    all others stay at or below y and all that differ lie above it:
    failure <= 2 (p - s) P(N + L > y) + sum_j P(N + L > alpha_j - y), and the best y is taken. The theorem lets
    n grow with y = c v n^((gamma-1)/2); here the numbers are those of the data.

    Parameters
    ----------
    gaps
        The differences of the features that have one.
    others
        How many features have none.
    deviation
        The largest standard deviation of a feature within a class, the release's noise included.
    rows
        Rows of the two classes.
    noise
        Scale of the Laplace noise on the scores, 0 for selection without privacy.
    level
        The failure probability that still counts as consistent.

    References
    ----------
    The feature-release paper, Theorem 8 and A.4; Fan and Fan (2008), Theorem 3.

    Examples
    --------
    >>> selection_margin([1.0] * 10, others=990, deviation=1.0, rows=(200, 200)).consistent
    True
    >>> selection_margin([0.2] * 10, others=990, deviation=1.0, rows=(200, 200)).consistent
    False
    """
    alpha = np.abs(np.asarray(gaps, dtype=np.float64))
    if alpha.ndim != 1 or not len(alpha):
        raise InvalidInput(f"gaps must be a list of at least one number, got shape {alpha.shape}")
    s = deviation * math.sqrt(sum(1 / check_count(n, name="rows") for n in rows))
    problem = _Problem(
        excess=alpha - alpha.min(), others=check_count(others, name="others", least=0), deviation=s, noise=noise
    )
    y, chance = problem.best(float(alpha.min()))
    needed = least_enough(lambda least: problem.best(least)[1] <= level, start=s + noise)
    return SelectionMargin(threshold=y, failure=chance, margin=float(alpha.min()) - needed)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Problem:
    """Features that differ by a least gap and some excess over it, among others that do not."""

    excess: NDArray[np.float64]
    others: int
    deviation: float
    noise: float

    def failure(self, least: float, y: float) -> float:
        above = mean_gap_tail(y, deviation=self.deviation, noise=self.noise)
        below = mean_gap_tail(self.excess + least - y, deviation=self.deviation, noise=self.noise)
        return float(min(1.0, 2 * self.others * above + below.sum()))

    def best(self, least: float) -> tuple[float, float]:
        """The threshold that separates best, and its failure."""
        grid = np.linspace(0.0, least, 65)
        middle = int(np.argmin([self.failure(least, y) for y in grid]))
        sides = grid[max(middle - 1, 0)], grid[min(middle + 1, 64)]
        found = minimize_scalar(lambda y: self.failure(least, y), bounds=sides, method="bounded")
        best = min((float(found.x), float(grid[middle])), key=lambda y: self.failure(least, y))
        return best, self.failure(least, best)
