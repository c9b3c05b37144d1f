"""What leaves of the selected features: every row under noise, or the totals of the classes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.features.protect.box import STEPS, Box
from tacit.features.protect.moments import ClassMoments
from tacit.features.theory.budget import check_promise
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee, Unit
from tacit.privacy.loss import ComposedLoss
from tacit.privacy.noise import CoordinateNoise, gaussian_scale
from tacit.privacy.rounding import exact

__all__ = ["ClassTotals", "NoisedRows", "NoisedTotals"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisedRows:
    """Every row with discrete Gaussian noise on each selected feature: (epsilon, delta) for one record.

    A record moves m coordinates of its own row by at most the box's width, so that each value carries noise of about
    2 sqrt(m) s half widths, s the scale for sensitivity 1. Nothing else is read of the rows.

    Parameters
    ----------
    epsilon, delta
        The promise of the rows alone.

    References
    ----------
    Proof: docs/proofs/coordinate_noise.md.

    Examples
    --------
    >>> rows = NoisedRows(epsilon=6.0, delta=1e-5)
    >>> round(rows.deviation(features=25), 2)
    7.64
    >>> rows.protect(np.zeros((2, 3), dtype=np.int64), rng=np.random.default_rng(0)).shape
    (2, 3)
    """

    name: ClassVar[str] = "noised_rows"
    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        check_promise(self.epsilon, self.delta)

    def noise(self, *, features: int) -> CoordinateNoise:
        """Return the noise for this many features.

        Examples
        --------
        >>> NoisedRows(epsilon=1.0, delta=1e-5).noise(features=4).coordinates
        4
        """
        return _noise(self.epsilon, self.delta, 2 * STEPS, features)

    def deviation(self, *, features: int) -> float:
        """Return the noise's standard deviation, in half widths of the box.

        Examples
        --------
        >>> round(NoisedRows(epsilon=1.0, delta=1e-5).deviation(features=1), 3)
        7.461
        """
        return float(self.noise(features=features).scale) / STEPS

    def guarantee(self, *, features: int) -> Guarantee:
        """Return the promise.

        Examples
        --------
        >>> print(NoisedRows(epsilon=1.0, delta=1e-5).guarantee(features=9))
        epsilon 1, delta 1e-5 for one record
        """
        loss = self.noise(features=features).loss()
        return Guarantee(unit=Unit.RECORD, epsilon=self.epsilon, delta=self.delta, loss=loss)

    def public_noise(self, box: Box, *, features: int) -> list[float]:
        """Return the noise's standard deviation on each feature, in its own units.

        Examples
        --------
        >>> NoisedRows(epsilon=6.0, delta=1e-5).public_noise(Box.symmetric(2.0), features=1)[0] > 3.0
        True
        """
        deviations = np.broadcast_to(self.deviation(features=features) * box.half, features)
        return [float(deviation) for deviation in deviations]

    def protect(self, steps: NDArray[np.int64], *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return the rows with noise, in steps.

        Examples
        --------
        >>> NoisedRows(epsilon=1.0, delta=1e-5).protect(np.zeros((1, 1), dtype=np.int64),
        ...                                             rng=np.random.default_rng(0)).dtype
        dtype('int64')
        """
        return steps + self.noise(features=steps.shape[1]).draw(steps.shape, rng=rng)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassTotals:
    """The classes' counts, sums and pooled squares with noise: all that Fisher's rule needs, (epsilon, delta) a record.

    The noise is on n rows' sums, not on each row, so a class mean carries 1/sqrt(n) of the noise that noised rows leave
    in it. Labels do not leave but through the totals.

    Parameters
    ----------
    epsilon, delta
        The promise of counts, sums and squares together.
    shares
        Of the budget for counts, sums and squares: each one's share of the squared signal-to-noise ratio.

    References
    ----------
    Proof: docs/proofs/coordinate_noise.md, section 5.

    Examples
    --------
    >>> totals = ClassTotals(epsilon=1.0, delta=1e-5)
    >>> print(totals.guarantee(features=25))
    epsilon 1, delta 1e-5 for one record
    """

    name: ClassVar[str] = "class_totals"
    epsilon: float
    delta: float
    shares: tuple[float, float, float] = (0.1, 0.6, 0.3)

    def __post_init__(self) -> None:
        check_promise(self.epsilon, self.delta)
        if min(self.shares) <= 0 or sum(map(exact, self.shares)) != 1:
            raise InvalidInput(f"shares must be three numbers > 0 that sum to 1, got {self.shares!r}")

    def noises(self, *, features: int) -> tuple[CoordinateNoise, CoordinateNoise, CoordinateNoise]:
        """Return the noise on counts (in 1/1024 of a row), on sums and on squares.

        Examples
        --------
        >>> [noise.coordinates for noise in ClassTotals(epsilon=1.0, delta=1e-5).noises(features=9)]
        [2, 9, 9]
        """
        return _totals_noise(self.epsilon, self.delta, self.shares, features)

    def guarantee(self, *, features: int) -> Guarantee:
        """Return the promise of the three together.

        Examples
        --------
        >>> ClassTotals(epsilon=2.0, delta=1e-6).guarantee(features=4).epsilon <= 2.0
        True
        """
        loss = _together(self.noises(features=features))
        return Guarantee(unit=Unit.RECORD, epsilon=self.epsilon, delta=self.delta, loss=loss)

    def public_noise(self, box: Box, *, features: int) -> dict[str, float]:  # noqa: ARG002
        """Return the noise's standard deviations: counts in rows, sums in half widths, squares in their squares.

        Examples
        --------
        >>> sorted(ClassTotals(epsilon=6.0, delta=1e-5).public_noise(Box.symmetric(2.0), features=1))
        ['counts', 'squares', 'sums']
        """
        scales = [float(noise.scale) / STEPS for noise in self.noises(features=features)]
        return dict(zip(("counts", "sums", "squares"), scales, strict=True))

    def protect(self, moments: ClassMoments, *, rng: np.random.Generator) -> NoisedTotals:
        """Return the totals with noise.

        Examples
        --------
        >>> moments = ClassMoments.of(np.array([[512], [-512]]), np.array([0, 1]), classes=2)
        >>> ClassTotals(epsilon=1.0, delta=1e-5).protect(moments, rng=np.random.default_rng(0)).sums.shape
        (2, 1)
        """
        on_counts, on_sums, on_squares = self.noises(features=moments.sums.shape[1])
        return NoisedTotals(
            counts=(moments.counts * STEPS + on_counts.draw(len(moments.counts), rng=rng)) / STEPS,
            sums=(moments.sums + on_sums.draw(moments.sums.shape, rng=rng)) / STEPS,
            squares=(moments.squares + on_squares.draw(len(moments.squares), rng=rng)) / STEPS,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisedTotals:
    """Released totals: rows of each class, sums in half widths, squares in squared half widths.

    Examples
    --------
    >>> NoisedTotals(counts=np.ones(2), sums=np.zeros((2, 1)), squares=np.zeros(1)).counts
    array([1., 1.])
    """

    counts: NDArray[np.float64]
    sums: NDArray[np.float64]
    squares: NDArray[np.float64]


@lru_cache(maxsize=64)
def _noise(epsilon: float, delta: float, sensitivity: int, coordinates: int) -> CoordinateNoise:
    return CoordinateNoise.for_privacy(epsilon, delta=delta, sensitivity=sensitivity, coordinates=coordinates)


@lru_cache(maxsize=64)
def _totals_noise(
    epsilon: float, delta: float, shares: tuple[float, float, float], features: int
) -> tuple[CoordinateNoise, CoordinateNoise, CoordinateNoise]:
    """Calibrate as one Gaussian vector, then widen until the composed price, which is rounded up, fits."""
    real = gaussian_scale(epsilon, delta=delta)
    moved = ((STEPS, 2), (2 * STEPS, features), (STEPS, features))
    for slack in (1.0, 1.00001, 1.0001, 1.001, 1.01, 1.03, 1.1, 1.3):
        counts, sums, squares = (
            CoordinateNoise(scale=exact(slack * real * D * math.sqrt(m / share)), sensitivity=D, coordinates=m)
            for (D, m), share in zip(moved, shares, strict=True)
        )
        if _together((counts, sums, squares)).epsilon_at(delta) <= epsilon:
            return counts, sums, squares
    raise InvalidInput(
        f"epsilon {epsilon!r} with delta {delta!r} is outside of what class totals can be priced at; take a larger "
        "delta, or an epsilon nearer to 1"
    )


def _together(noises: tuple[CoordinateNoise, ...]) -> ComposedLoss:
    return ComposedLoss(parts=tuple(noise.loss() for noise in noises))
