"""The privacy loss distribution as a plain array: composed by convolution, always pessimistic.

Each distribution has an interval of its own, fine beside its losses; a composition takes the finest that its array has
room for. dp-accounting builds such distributions too, on one interval; the tests compare ours with theirs.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count as counter

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.tilted import LossSummand, add_losses

__all__ = ["LARGEST", "LossDistribution", "compose_all", "interval_for"]

LARGEST = 600.0
"""Losses above this count as infinite, those below its negative as its negative, so that e^loss is a float."""

_BASE = 1e-3  # the interval of arrays that were stored before each had its own
_LEAST = 1e-15
_WINDOW = 2**18  # points of one array
_POINTS = 2**14  # of a composed array
_FEW = 32  # runs that are composed one by one: where losses are apart, a transform blurs them
_AT_ONCE = 2**20  # runs in one transform
_UPPER_TAIL = 1e-24  # mass a composition may move to infinity
_LOWER_TAIL = 1e-15  # mass a composition may lift to the lowest loss kept
_SLACK = 1e-6  # relative: far above the rounding of 10^4 convolutions, far below what a delta is chosen to
_SPARSE = 64
_DIRECT = 4_000_000


def interval_for(mean_square: float, *, count: int = 1, span: float = 0.0) -> float:
    """Return an interval that is fine beside ``count`` losses with this mean square of their sum.

    Rounding a loss to a grid adds at most interval^2 / 4 to its variance, and at most the interval to a loss. All
    intervals are 1/1000 times a power of two: of two, one has all points of the other, and decimals are on many.

    Parameters
    ----------
    span
        How far the losses reach: their array must fit memory.
    """
    share = 0.005 * min(max(count / 20, 1.0), 12.0)
    size = min(max(math.sqrt(mean_square / count), _LEAST), LARGEST)
    return _doubled(2.0 ** math.floor(math.log2(share * size / _BASE)) * _BASE, span=span, points=_WINDOW)


@dataclass(frozen=True, slots=True, eq=False)
class LossDistribution:
    """Mass of each privacy loss l = log P(o)/Q(o), o ~ P, on a grid, for a pair that dominates the mechanism.

    delta(epsilon) = infinity + sum over l > epsilon of mass(l) (1 - e^(epsilon - l)).

    References
    ----------
    Koskela et al. (2020); Doroshenko et al. (2022), "Connect the dots" (the split of an atom between two
    grid points keeps its mass under P and under Q, so the grid's curve lies on or above the true one).

    Examples
    --------
    >>> once = LossDistribution.from_atoms([1.0, -1.0], [0.731058578630005, 0.268941421369995])
    >>> round(once.delta_at(0.0), 6), round(once.compose(once).epsilon_at(1e-9), 6)
    (0.462117, 2.0)
    """

    lower: int
    masses: NDArray[np.float64]
    infinity: float
    interval: float = _BASE

    @classmethod
    def from_atoms(
        cls, losses: ArrayLike, masses: ArrayLike, *, infinity: float = 0.0, interval: float | None = None
    ) -> LossDistribution:
        """Put atoms on the grid, each split between its two neighbors."""
        loss = np.atleast_1d(np.asarray(losses, dtype=np.float64))
        mass = np.atleast_1d(np.asarray(masses, dtype=np.float64))
        beyond = loss > LARGEST
        infinity = float(infinity + mass[beyond].sum())
        loss, mass = np.maximum(loss[~beyond], -LARGEST), mass[~beyond]
        if not len(loss):
            return cls(0, np.zeros(1), infinity)
        h = (
            interval_for(float((mass * loss**2).sum()), span=float(np.abs(loss).max()))
            if interval is None
            else interval
        )
        below = np.floor(loss / h).astype(np.int64)
        share = np.expm1(-np.clip(loss - below * h, 0, h)) / math.expm1(-h)
        lower = int(below.min())
        size = int(below.max()) - lower + 2
        grid = np.zeros(size)
        grid += np.bincount(below - lower, weights=mass * (1 - share), minlength=size)
        grid += np.bincount(below - lower + 1, weights=mass * share, minlength=size)
        return cls(lower, grid, infinity, h).trimmed()

    @classmethod
    def from_cells(
        cls,
        lower: int,
        p: NDArray[np.float64],
        q: NDArray[np.float64],
        *,
        rounding: NDArray[np.float64],
        infinity: float,
        interval: float,
    ) -> LossDistribution:
        """Connect the dots: put what P has between two grid points on both, so that Q has there what it had.

        Parameters
        ----------
        lower
            The first cell is between the grid's points lower and lower + 1.
        p, q
            The masses of the cells under P and under Q.
        rounding
            How far P's mass of a cell, less e^loss times Q's, may be off.
        """
        losses = (lower + np.arange(len(p))) * interval
        upper = np.clip((p - q * np.exp(np.minimum(losses, 700.0)) + rounding) / -math.expm1(-interval), 0.0, p)
        masses = np.append(p - upper, 0.0)
        masses[1:] += upper
        return cls(lower, masses, infinity, interval).trimmed()

    def compose(self, other: LossDistribution) -> LossDistribution:
        """Return the distribution of both mechanisms run on the same data, the second chosen after the first."""
        h = _doubled(min(self.interval, other.interval), span=self._span + other._span)
        one, two = self.on(h), other.on(h)
        # not 1 - (1 - a)(1 - b), in which a mass below 1e-16 would be lost
        infinity = self.infinity + other.infinity * (1 - self.infinity)
        if not (one.masses.any() and two.masses.any()):
            return LossDistribution(0, np.zeros(1), 1.0)
        lower, masses, above = _convolve(one, two)
        return LossDistribution(lower, masses, infinity + above, h).trimmed()

    def power(self, count: int) -> LossDistribution:
        """Return the distribution of ``count`` runs of the same mechanism."""
        if count == 0 or not self.masses.any():
            return LossDistribution(0, np.zeros(1), 1.0) if count else NOTHING
        if count == 1:
            return self
        if count <= _FEW:
            half = self.power(count // 2)
            return half.compose(half).compose(self) if count % 2 else half.compose(half)
        if count > _AT_ONCE:
            rest = self.power(count % _AT_ONCE)
            return self.power(_AT_ONCE).power(count // _AT_ONCE).compose(rest)
        one = self.on(max(self.interval, interval_for(count * self.mean_square, count=count)))
        lower, masses, above = add_losses([LossSummand(one.lower, one.masses, count)])
        infinity = -math.expm1(count * math.log1p(-min(one.infinity, 1 - 2.0**-53)))
        whole = LossDistribution(lower, masses, infinity + above, one.interval).trimmed()
        return whole.on(_doubled(whole.interval, span=whole._span))

    def on(self, interval: float) -> LossDistribution:
        """Return the same losses on another grid, never smaller."""
        if interval == self.interval:
            return self
        held = np.flatnonzero(self.masses)
        return LossDistribution.from_atoms(
            self._losses()[held], self.masses[held], infinity=self.infinity, interval=interval
        )

    def delta_at(self, epsilon: float) -> float:
        """Return the least delta for which the pair is (epsilon, delta)-indistinguishable."""
        losses = self._losses()
        above = losses > epsilon
        gaps = -np.expm1(epsilon - losses[above])
        return float(self.infinity + (self.masses[above] * gaps).sum())

    def epsilon_at(self, delta: float) -> float:
        """Return the least epsilon >= 0 at ``delta``, rounded up; infinite if there is none.

        Examples
        --------
        >>> LossDistribution.from_atoms([1.0], [0.5], infinity=0.5).epsilon_at(0.1)
        inf
        """
        target = delta * (1 - _SLACK)
        if self.infinity > target:
            return math.inf
        if self.delta_at(0.0) <= target:
            return 0.0
        losses = self._losses()
        # tails over l >= losses[i]: mass under P, and under Q (mass e^-l)
        p_tail = np.cumsum(self.masses[::-1])[::-1]
        q_tail = np.cumsum((self.masses * np.exp(-losses))[::-1])[::-1]
        # on [losses[i-1], losses[i]) delta is infinity + p_tail[i] - e^epsilon q_tail[i], and it falls
        at_grid = self.infinity + np.append(p_tail[1:], 0.0) - np.exp(losses) * np.append(q_tail[1:], 0.0)
        i = int(np.argmax(at_grid <= target))
        epsilon = math.log((self.infinity + p_tail[i] - target) / q_tail[i])
        return epsilon + 1e-12 * epsilon + 1e-14

    def log_moment(self, order: float) -> float:
        """Return log E[e^((order - 1) loss)] of the finite losses, rounded up."""
        held = np.flatnonzero(self.masses)
        exponents = np.log(self.masses[held]) + (order - 1) * self._losses()[held]
        top = float(exponents.max(initial=-math.inf))
        return max(0.0, top + math.log(float(np.exp(exponents - top).sum()))) * (1 + 1e-9) if len(held) else 0.0

    @property
    def mean_square(self) -> float:
        """Of the finite losses."""
        return float((self.masses * self._losses() ** 2).sum())

    @property
    def _span(self) -> float:
        return len(self.masses) * self.interval

    def _losses(self) -> NDArray[np.float64]:
        return np.asarray((self.lower + np.arange(len(self.masses))) * self.interval, dtype=np.float64)

    def trimmed(self) -> LossDistribution:
        """Return it with its tails cut: what is cut above becomes infinite, what is cut below is lifted.

        Examples
        --------
        >>> LossDistribution(999_999, np.array([0.5, 0.5]), 0.0).trimmed().infinity  # e^1000 is no float
        1.0
        """
        top = np.cumsum(self.masses[::-1])
        beyond = self.lower + len(self.masses) - 1 - math.floor(LARGEST / self.interval)
        cut_above = min(max(int(np.searchsorted(top, _UPPER_TAIL, side="right")), beyond), len(self.masses))
        infinity = min(self.infinity + (float(top[cut_above - 1]) if cut_above else 0.0), 1.0)
        masses = self.masses[: len(self.masses) - cut_above].copy()
        if not len(masses):
            return LossDistribution(0, np.zeros(1), infinity)
        bottom = np.cumsum(masses)
        cut_below = min(int(np.searchsorted(bottom, _LOWER_TAIL, side="right")), len(masses) - 1)
        if cut_below:
            masses[cut_below] += bottom[cut_below - 1]
        return LossDistribution(self.lower + cut_below, masses[cut_below:], infinity, self.interval)


NOTHING = LossDistribution(0, np.ones(1), 0.0)
"""The loss of no release."""


def compose_all(parts: Iterable[LossDistribution]) -> LossDistribution:
    """Return the distribution of all of them, the shortest arrays first."""
    order, given = counter(), list(parts)
    h = interval_for(sum(part.mean_square for part in given), count=max(len(given), 1))
    heap = [(len(part.masses), next(order), part.on(max(part.interval, h))) for part in given]
    heapq.heapify(heap)
    while len(heap) > 1:
        both = heapq.heappop(heap)[2].compose(heapq.heappop(heap)[2])
        heapq.heappush(heap, (len(both.masses), next(order), both))
    return heap[0][2] if heap else NOTHING


def _doubled(interval: float, *, span: float, points: int = _POINTS) -> float:
    """The first interval, doubling, at which so wide an array has few enough points."""
    return interval * 2.0 ** max(0, math.ceil(math.log2(max(span, interval) / interval / points)))


def _convolve(one: LossDistribution, two: LossDistribution) -> tuple[int, NDArray[np.float64], float]:
    """Convolve, and bound what is above the array."""
    a, b = one.masses, two.masses
    short, long = (a, b) if np.count_nonzero(a) <= np.count_nonzero(b) else (b, a)
    atoms = np.flatnonzero(short)
    if len(atoms) <= _SPARSE:
        result = np.zeros(len(a) + len(b) - 1)
        for atom in atoms:
            result[atom : atom + len(long)] += short[atom] * long
        return one.lower + two.lower, result, 0.0
    if len(a) * len(b) <= _DIRECT:
        return one.lower + two.lower, np.convolve(a, b), 0.0
    return add_losses([LossSummand(one.lower, a), LossSummand(two.lower, b)])
