"""Sums of independent losses by Fourier transforms of tilted masses: every mass is bounded from above, also far out.

Proof: docs/proofs/grid.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["LossSummand", "add_losses"]

Array = NDArray[np.float64]

_CENTERS = tuple(math.log(10.0) * power for power in (3, 7, 11, 15))  # a tilt for tails of about 10^-power each
_TOP = math.log(1e24)  # the mass above the window is at most 1e-24, and counts as infinite
_BOTTOM = math.log(1e18)
_TILTS = 2.0 ** np.arange(-5, 10)  # tried, in units of 1 / the root of the sum's mean square
_UNIT = 2.0**-53
_ROUNDING = 1 + 1e-11  # of exponentials and sums


@dataclass(frozen=True, eq=False)
class LossSummand:
    """``count`` independent losses on a grid: the masses of ``lower``, ``lower + 1``, ... times the interval."""

    lower: int
    masses: Array
    count: int = 1

    @cached_property
    def _held(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.masses)

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """The points of the grid that have mass."""
        return self._held + self.lower

    @cached_property
    def logs(self) -> Array:
        """The logarithms of their masses."""
        return np.asarray(np.log(self.masses[self._held]))

    @property
    def mean_square(self) -> float:
        """Of all losses together."""
        return self.count * float((self.masses[self._held] * self.places.astype(float) ** 2).sum())

    def log_moment(self, tilt: float) -> float:
        """Log E e^(tilt loss) of one loss; the grid's interval is 1."""
        exponents = self.logs + tilt * self.places
        top = float(exponents.max())
        return top + math.log(float(np.exp(exponents - top).sum()))

    def spectrum(self, tilt: float, size: int) -> tuple[NDArray[np.complex128], float]:
        """Return the transform of the tilted masses, wrapped around ``size``, and the most that a value is off by."""
        from scipy.fft import rfft

        tilted = np.exp(self.logs + tilt * self.places - self.log_moment(tilt))
        wrapped = np.bincount(self.places % size, weights=tilted, minlength=size)
        return rfft(wrapped), _transform_error(size)


def add_losses(parts: Sequence[LossSummand]) -> tuple[int, Array, float]:
    """Return where the window of the sum begins, an upper bound on each of its masses, and one on the mass above it."""
    from scipy.fft import next_fast_len

    unit = 1 / math.sqrt(max(sum(part.mean_square for part in parts), 1e-300))
    tilts = [unit * float(tilt) for tilt in _TILTS]
    moments = {tilt: _log_moment(parts, tilt) for tilt in tilts}
    top, above = _top(parts, moments)
    below = {tilt: _log_moment(parts, -tilt) for tilt in tilts}
    bottom = min(-_top(_mirrored(parts), below, at=_BOTTOM)[0], top)  # above the top if almost all is infinite
    size = next_fast_len(top - bottom + 1, real=True)
    chosen = {min(tilts, key=lambda tilt: (moments[tilt] + center) / tilt) for center in _CENTERS}
    masses = np.full(top - bottom + 1, np.inf)
    for tilt in sorted({0.0, *chosen}):
        np.minimum(masses, _upper_bounds(parts, tilt, bottom, top, size), out=masses)
    return bottom, masses, above


def _upper_bounds(parts: Sequence[LossSummand], tilt: float, bottom: int, top: int, size: int) -> Array:
    from scipy.fft import irfft

    product = np.ones(size // 2 + 1, dtype=np.complex128)
    log_most, log_sure = np.zeros(size // 2 + 1), np.zeros(size // 2 + 1)
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        for part in parts:
            values, error = part.spectrum(tilt, size)
            heights = np.abs(values)
            product = product * values**part.count
            log_sure += part.count * np.log(heights)
            log_most += part.count * np.log(heights * (1 + 32 * _UNIT) + error)
        lost = float((np.exp(log_most) - np.exp(log_sure)).sum()) * 2 / size
        wrapped = irfft(product, size)
        lost += _transform_error(size) * float(np.abs(product).sum()) * 2 / size
        points = np.arange(bottom, top + 1)
        heights = np.maximum(wrapped[points % size], 0.0) + max(lost, 1e-300)
        return np.asarray(heights * np.exp(_log_moment(parts, tilt) - tilt * points) * _ROUNDING)


def _transform_error(size: int) -> float:
    """The most by which rounding moves one value of a transform, in units of the sum of what is transformed."""
    return 16 * _UNIT * math.log2(2 * size)


def _log_moment(parts: Sequence[LossSummand], tilt: float) -> float:
    return sum(part.count * part.log_moment(tilt) for part in parts)


def _mirrored(parts: Sequence[LossSummand]) -> list[LossSummand]:
    return [LossSummand(-(part.lower + len(part.masses) - 1), part.masses[::-1], part.count) for part in parts]


def _top(parts: Sequence[LossSummand], moments: dict[float, float], *, at: float = _TOP) -> tuple[int, float]:
    """The last point that the window needs, by Chernoff's bound, and the most mass above it."""
    most = sum(part.count * int(part.places[-1]) for part in parts)
    reach = math.ceil(min((moment + at) / tilt for tilt, moment in moments.items()))
    if most <= reach:
        return most, 0.0
    return reach, math.exp(-at) * _ROUNDING
