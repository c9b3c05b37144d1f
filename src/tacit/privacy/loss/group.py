"""The loss of a group: what inputs that differ in several units, one after the other, can be told apart by."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.distribution import LARGEST, LossDistribution

__all__ = ["group_distribution"]

Array = NDArray[np.float64]


def group_distribution(one: LossDistribution, *, rows: int) -> LossDistribution:
    """Return a distribution that dominates ``rows`` steps from one neighbor to the next, each dominated by ``one``.

    By repeated doubling of delta_{m+n}(epsilon) = min over a of delta_m(a) + e^a delta_n(epsilon - a).

    Parameters
    ----------
    one
        The loss between two neighbors; the pair must be its own mirror image.

    References
    ----------
    docs/proofs/groups.md; Dong, Roth and Su (2022), Theorem 2.14.

    Examples
    --------
    >>> coin = LossDistribution.from_atoms([1.0, -1.0], [0.731058578630005, 0.268941421369995])
    >>> round(group_distribution(coin, rows=3).epsilon_at(1e-12), 6)
    3.0
    """
    result: LossDistribution | None = None
    square = one
    while rows:
        if rows & 1:
            result = square if result is None else _chain(result, square)
        rows >>= 1
        if rows:
            square = _chain(square, square)
    assert result is not None
    return result


def _chain(first: LossDistribution, then: LossDistribution) -> LossDistribution:
    """One pair after the other: the bound at every point of the grid, at the best point of the grid between."""
    h = max(first.interval, then.interval)
    near, far = _LossTails(first.on(h)), _LossTails(then.on(h))
    lower = max(near.lower + far.lower, -round(LARGEST / h))
    upper = min(near.upper + far.upper, round(LARGEST / h))
    if lower > upper:  # every loss counts as infinite
        return LossDistribution(0, np.zeros(1), 1.0)
    points = np.arange(lower, upper + 1)
    between = _best_between(points, near, far)
    deltas = near.delta(between) + np.exp(between * h) * far.delta(points - between)
    return _dominating(points, np.minimum(deltas, 1.0), h)


class _LossTails:
    """P(loss > a) and Q(loss > a) of a pair, at every grid point a."""

    def __init__(self, pair: LossDistribution) -> None:
        self.lower, self.upper = pair.lower - 1, pair.lower + len(pair.masses) - 1
        self._interval = pair.interval
        losses = (pair.lower + np.arange(len(pair.masses))) * pair.interval
        self._p = np.append(np.cumsum(pair.masses[::-1])[::-1], 0.0) + pair.infinity
        self._q = np.append(np.cumsum((pair.masses * np.exp(-losses))[::-1])[::-1], 0.0)

    def p(self, points: NDArray[np.int64]) -> Array:
        return np.asarray(self._p[np.clip(points - self.lower, 0, len(self._p) - 1)])

    def q(self, points: NDArray[np.int64]) -> Array:
        return np.asarray(self._q[np.clip(points - self.lower, 0, len(self._q) - 1)])

    def delta(self, points: NDArray[np.int64]) -> Array:
        return np.asarray(np.maximum(self.p(points) - np.exp(points * self._interval) * self.q(points), 0.0))


def _best_between(points: NDArray[np.int64], near: _LossTails, far: _LossTails) -> NDArray[np.int64]:
    """The first a at which Q(loss > a) of the first pair is at most P(loss > epsilon - a) of the second.

    In x = e^a the bound is convex, and its derivative is their difference, so a minimum lies there.
    """
    low = np.full(len(points), near.lower)
    high = np.full(len(points), near.upper)
    while (low < high).any():
        middle = (low + high) // 2
        enough = near.q(middle) <= far.p(points - middle)
        high = np.where(enough, middle, high)
        low = np.where(enough, low, middle + 1)
    return low


def _dominating(points: NDArray[np.int64], deltas: Array, interval: float) -> LossDistribution:
    """The pair whose curve joins these points by lines in e^epsilon, on or above every convex curve below them."""
    from scipy.optimize import isotonic_regression  # half a second of import that one row per person does not need

    odds = np.append(0.0, np.exp(points * interval))
    falls = -np.diff(np.append(1.0, deltas)) / np.diff(odds)  # Q(loss > epsilon) between two points
    falls = isotonic_regression(falls, weights=np.diff(odds), increasing=False).x  # makes the joined curve convex
    falls = np.append(np.clip(falls, 0.0, 1.0), 0.0)
    masses = (falls[:-1] - falls[1:]) * odds[1:]
    infinity = float(deltas[-1])
    return LossDistribution(int(points[0]), np.maximum(masses, 0.0), infinity, interval).trimmed()
