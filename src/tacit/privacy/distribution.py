"""The privacy loss distribution as a plain array: composed by convolution, stored as bytes, always pessimistic.

dp-accounting builds and composes such distributions too; the ledger needs them as arrays that can be stored
and extended by one charge in milliseconds, without FFT noise in the tail. The tests compare ours with theirs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["INTERVAL", "LARGEST", "LossDistribution"]

INTERVAL = 1e-3
"""Losses are multiples of this."""

LARGEST = 600.0
"""Losses above this count as infinite, those below its negative as its negative, so that e^loss is a float."""

_UPPER_TAIL = 1e-18  # mass a composition may move to infinity
_LOWER_TAIL = 1e-15  # mass a composition may lift to the lowest loss kept
_SLACK = 1e-6  # relative: far above the rounding of 10^4 convolutions, far below what a delta is chosen to
_SPARSE = 64
_DIRECT = 30_000_000


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

    @classmethod
    def from_atoms(cls, losses: ArrayLike, masses: ArrayLike, *, infinity: float = 0.0) -> LossDistribution:
        """Put atoms on the grid, each split between its two neighbors."""
        loss = np.atleast_1d(np.asarray(losses, dtype=np.float64))
        mass = np.atleast_1d(np.asarray(masses, dtype=np.float64))
        beyond = loss > LARGEST
        infinity = float(infinity + mass[beyond].sum())
        loss, mass = np.maximum(loss[~beyond], -LARGEST), mass[~beyond]
        below = np.floor(loss / INTERVAL).astype(np.int64)
        share = np.expm1(-np.clip(loss - below * INTERVAL, 0, INTERVAL)) / math.expm1(-INTERVAL)
        lower = int(below.min(initial=0)) if len(below) else 0
        size = int(below.max(initial=lower)) - lower + 2
        grid = np.zeros(size)
        grid += np.bincount(below - lower, weights=mass * (1 - share), minlength=size)
        grid += np.bincount(below - lower + 1, weights=mass * share, minlength=size)
        return cls(lower, grid, infinity).trimmed()

    def compose(self, other: LossDistribution) -> LossDistribution:
        """Return the distribution of both mechanisms run on the same data, the second chosen after the first."""
        masses, error = _convolve(self.masses, other.masses)
        # not 1 - (1 - a)(1 - b), in which a mass below 1e-16 would be lost
        infinity = self.infinity + other.infinity * (1 - self.infinity)
        return LossDistribution(self.lower + other.lower, masses, infinity + error).trimmed()

    def power(self, count: int) -> LossDistribution:
        """Return the distribution of ``count`` runs of the same mechanism."""
        result: LossDistribution | None = None
        square = self
        while count:
            if count & 1:
                result = square if result is None else result.compose(square)
            count >>= 1
            if count:
                square = square.compose(square)
        return result if result is not None else LossDistribution(0, np.ones(1), 0.0)

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
        return epsilon + 1e-12 * (1 + epsilon)

    def to_bytes(self) -> bytes:
        """Return the masses as little-endian float64, for the ledger's store."""
        return self.masses.astype("<f8").tobytes()

    @classmethod
    def from_bytes(cls, lower: int, masses: bytes, infinity: float) -> LossDistribution:
        """Read back what :meth:`to_bytes` wrote."""
        return cls(lower, np.frombuffer(masses, dtype="<f8").astype(np.float64), infinity)

    def _losses(self) -> NDArray[np.float64]:
        return np.asarray((self.lower + np.arange(len(self.masses))) * INTERVAL, dtype=np.float64)

    def trimmed(self) -> LossDistribution:
        """Return it with its tails cut: what is cut above becomes infinite, what is cut below is lifted.

        Examples
        --------
        >>> LossDistribution(999_999, np.array([0.5, 0.5]), 0.0).trimmed().infinity  # e^1000 is no float
        1.0
        """
        top = np.cumsum(self.masses[::-1])
        beyond = self.lower + len(self.masses) - 1 - round(LARGEST / INTERVAL)
        cut_above = min(max(int(np.searchsorted(top, _UPPER_TAIL, side="right")), beyond), len(self.masses))
        infinity = self.infinity + (float(top[cut_above - 1]) if cut_above else 0.0)
        masses = self.masses[: len(self.masses) - cut_above].copy()
        if not len(masses):
            return LossDistribution(0, np.zeros(1), infinity)
        bottom = np.cumsum(masses)
        cut_below = min(int(np.searchsorted(bottom, _LOWER_TAIL, side="right")), len(masses) - 1)
        if cut_below:
            masses[cut_below] += bottom[cut_below - 1]
        return LossDistribution(self.lower + cut_below, masses[cut_below:], infinity)


def _convolve(a: NDArray[np.float64], b: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Convolve, and bound the mass that rounding may have lost."""
    short, long = (a, b) if np.count_nonzero(a) <= np.count_nonzero(b) else (b, a)
    atoms = np.flatnonzero(short)
    if len(atoms) <= _SPARSE:
        result = np.zeros(len(a) + len(b) - 1)
        for atom in atoms:
            result[atom : atom + len(long)] += short[atom] * long
        return result, 0.0
    if len(a) * len(b) <= _DIRECT:
        return np.convolve(a, b), 0.0
    from scipy.signal import fftconvolve  # half a second of import that short distributions do not need

    size = len(a) + len(b) - 1
    # |error| of each entry <= 6 u log2(n) |a|_2 |b|_2 (Higham 2002, Theorem 24.2, forward and back)
    error = 6 * 2.0**-53 * math.log2(2 * size) * float(np.linalg.norm(a) * np.linalg.norm(b))
    result = fftconvolve(a, b)
    # mass below the error may be none: it is removed, and counted as infinite loss too
    return np.where(result > error, result, 0.0), 2 * error * size
