"""The totals of the classes under noise: all that Fisher's rule reads of the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.features.mechanisms.box import STEPS, FeatureRanges
from tacit.features.mechanisms.moments import ClassMoments
from tacit.features.mechanisms.noise import NoNoise, check_gaussian
from tacit.features.mechanisms.selected import SelectedColumns
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee, Unit
from tacit.privacy.loss import ComposedLoss
from tacit.privacy.noise import CoordinateNoise, gaussian_scale
from tacit.privacy.releases import DocumentMember, ReleaseMember
from tacit.privacy.rounding import exact

__all__ = ["NoisyTotals", "ReleasedTotals"]

Noises = tuple[CoordinateNoise, CoordinateNoise, CoordinateNoise]

_SHARES = (0.1, 0.6, 0.3)  # of counts, sums and squares in the squared signal-to-noise ratio


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyTotals:
    """The classes' counts, sums and pooled squares with noise: (epsilon, delta) for one record.

    The noise is on sums of n rows, not on each row, so a class mean carries 1/sqrt(n) of the noise that noisy rows
    leave in it. Labels are released through the totals alone.

    Parameters
    ----------
    epsilon, delta
        The guarantee of counts, sums and squares together; an infinite epsilon adds no noise.

    References
    ----------
    Proof: docs/proofs/coordinate_noise.md, section 5.
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        check_gaussian(self.epsilon, self.delta)

    def noises(self, *, features: int) -> Noises | tuple[NoNoise, NoNoise, NoNoise]:
        """Return the noise on counts (in 1/1024 of a row), on sums and on squares."""
        if math.isinf(self.epsilon):
            return NoNoise(), NoNoise(), NoNoise()
        return _noises(self.epsilon, self.delta, features)

    apart: ClassVar[bool] = False

    def guarantees(self, *, features: int) -> list[Guarantee]:
        """Return what the three cost together."""
        loss = _loss(_noises(self.epsilon, self.delta, features))
        return [Guarantee(unit=Unit.RECORD, epsilon=self.epsilon, delta=self.delta, loss=loss)]

    def describe(self, box: FeatureRanges) -> dict[str, float]:
        """Return the noise's standard deviations: counts in rows, sums in half widths, squares in their squares."""
        scales = [float(noise.scale) / STEPS for noise in self.noises(features=box.features)]
        return dict(zip(("counts", "sums", "squares"), scales, strict=True))

    def add_noise(self, moments: ClassMoments, *, rng: np.random.Generator) -> ReleasedTotals:
        """Return the totals with noise."""
        on_counts, on_sums, on_squares = self.noises(features=moments.sums.shape[1])
        return ReleasedTotals(
            counts=(moments.counts * STEPS + on_counts.draw(len(moments.counts), rng=rng)) / STEPS,
            sums=(moments.sums + on_sums.draw(moments.sums.shape, rng=rng)) / STEPS,
            squares=(moments.squares + on_squares.draw(len(moments.squares), rng=rng)) / STEPS,
        )

    def corner_scores(self, side: int, *, features: int, records: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return the sums of classes' released sums, where each class is one record.

        What else a class holds does not matter, because noise is added: it has that record alone, in the box's corner
        ``side`` (1 or -1).
        """
        corner = np.full((records, features), side * STEPS, dtype=np.int64)
        squares = np.full(features, records * STEPS, dtype=np.int64)
        table = ClassMoments(counts=np.ones(records, dtype=np.int64), sums=corner, squares=squares)
        totals: NDArray[np.float64] = self.add_noise(table, rng=rng).sums.sum(axis=1)
        return totals

    def draw(self, selected: SelectedColumns, *, rng: np.random.Generator) -> dict[str, ReleaseMember]:
        """Return the totals, drawn at once."""
        return {"totals": DocumentMember(self.add_noise(selected.moments, rng=rng).to_json())}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReleasedTotals:
    """Released totals: rows of each class, sums in half widths, squares in squared half widths."""

    counts: NDArray[np.float64]
    sums: NDArray[np.float64]
    squares: NDArray[np.float64]

    def take(self, features: list[int]) -> ReleasedTotals:
        """Return the totals of some features, in their order."""
        return ReleasedTotals(counts=self.counts, sums=self.sums[:, features], squares=self.squares[features])

    def to_json(self) -> dict[str, Any]:
        """Return the totals as plain JSON."""
        return {name: getattr(self, name).tolist() for name in ("counts", "sums", "squares")}


@lru_cache(maxsize=64)
def _noises(epsilon: float, delta: float, features: int) -> Noises:
    """Calibrate as one Gaussian vector, then widen until the composed price, which is rounded up, fits."""
    real = gaussian_scale(epsilon, delta=delta)
    moved = ((STEPS, 2), (2 * STEPS, features), (STEPS, features))
    for slack in (1.0, 1.00001, 1.0001, 1.001, 1.01, 1.03, 1.1, 1.3):
        counts, sums, squares = (
            CoordinateNoise(scale=exact(slack * real * D * math.sqrt(m / share)), sensitivity=D, coordinates=m)
            for (D, m), share in zip(moved, _SHARES, strict=True)
        )
        if _loss((counts, sums, squares)).epsilon_at(delta) <= epsilon:
            return counts, sums, squares
    raise InvalidInput(
        f"{epsilon!r} with delta {delta!r} has no noise for class totals; take a larger delta, or an epsilon nearer "
        "to 1",
        field="epsilon",
    )


def _loss(noises: Noises) -> ComposedLoss:
    return ComposedLoss(parts=tuple(noise.loss() for noise in noises))
