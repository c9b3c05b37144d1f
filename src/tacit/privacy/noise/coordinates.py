"""The same discrete Gaussian noise on many coordinates, accounted as tightly as on one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee, Unit
from tacit.privacy.loss import DiscreteGaussianLoss
from tacit.privacy.noise.gaussian import DiscreteGaussian
from tacit.privacy.noise.rejection import Shape
from tacit.privacy.rounding import check_count, check_delta, exact

__all__ = ["CoordinateNoise"]

_LEAST = 16  # below this scale sums of discrete Gaussians are not discrete Gaussians to every digit
_BITS = 40
_COARSE = Fraction(1, 10**7)


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinateNoise:
    """Independent discrete Gaussian noise on integer coordinates, some of which one unit moves by a bounded step.

    If a unit moves at most ``coordinates`` of them, each by at most ``sensitivity`` (D), the privacy loss is that of
    the sum of the noises on one query that moves by coordinates x D, and the sum of m such noises of scale s is
    discrete Gaussian of scale s sqrt(m) to within a factor 1 +- 10^-1000 for s >= 16. So the price is that of real
    Gaussian noise on a vector of length D sqrt(m), where zero-concentrated privacy would charge about 8% more.

    Parameters
    ----------
    scale
        The scale of each coordinate's noise, at least 16 steps; use a finer grid for less noise.
    sensitivity
        By how many steps one unit moves a coordinate at most.
    coordinates
        How many coordinates it moves at most.

    References
    ----------
    Kairouz, Liu and Steinke (2021), Section 3. Proof: docs/proofs/coordinate_noise.md.

    Examples
    --------
    >>> noise = CoordinateNoise.for_privacy(6.0, delta=1e-5, sensitivity=2048, coordinates=25)
    >>> round(float(noise.scale) / 1024, 2)
    7.64
    >>> print(noise.guarantee(unit=Unit.RECORD, delta=1e-5))
    epsilon 6, delta 1e-5 for one record
    """

    scale: Fraction
    sensitivity: int
    coordinates: int

    def __post_init__(self) -> None:
        check_count(self.sensitivity, name="sensitivity")
        check_count(self.coordinates, name="coordinates")
        object.__setattr__(self, "scale", DiscreteGaussian(scale=self.scale).scale)
        if self.scale < _LEAST:
            raise InvalidInput(
                f"must be at least {_LEAST} steps, got {float(self.scale):.4g}; make the grid's step smaller",
                field="scale",
            )

    @classmethod
    def for_privacy(cls, epsilon: float, *, delta: float, sensitivity: int, coordinates: int) -> CoordinateNoise:
        """Return the least noise that gives (epsilon, delta)."""
        m = check_count(coordinates, name="coordinates")
        one = DiscreteGaussian.for_privacy(epsilon, delta=delta, sensitivity=m * sensitivity).scale
        for slack in (0.0, 1e-6, 1e-4, 1e-2, 0.1, 1.0):  # what the price's own rounding up may need
            scale = (
                one / math.isqrt(m) if slack == 0 and _is_square(m) else _root((1 + exact(slack)) * (one**2 + 512) / m)
            )
            noise = cls(scale=scale, sensitivity=sensitivity, coordinates=m)
            if noise.loss().epsilon_at(delta) <= epsilon:
                break
        return noise

    def draw(self, size: Shape, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw noise of the given size or shape."""
        return DiscreteGaussian(scale=self.scale).draw(size, rng=rng)

    def loss(self) -> DiscreteGaussianLoss:
        """Return the privacy loss of all coordinates together, as that of one query."""
        squared, D = self.coordinates * self.scale**2, self.coordinates * self.sensitivity
        g = _coarseness(squared, D)
        if g == 1 and _is_square(self.coordinates):
            return DiscreteGaussianLoss(scale=self.scale * math.isqrt(self.coordinates), sensitivity=D)
        return DiscreteGaussianLoss(scale=_root(squared - (_LEAST * g) ** 2) / g, sensitivity=D // g)

    def guarantee(self, *, unit: Unit, delta: float) -> Guarantee:
        """Return the guarantee to one ``unit``."""
        return Guarantee.from_loss(self.loss(), unit=unit, delta=check_delta(delta, zero=False))


def _coarseness(squared_scale: Fraction, sensitivity: int) -> int:
    """The largest power of two on whose multiples the loss can be computed, at a cost of 10^-7 of the variance."""
    g = 1
    while sensitivity % (2 * g) == 0 and (_LEAST * 2 * g) ** 2 <= _COARSE * squared_scale:
        g *= 2
    return g


def _is_square(count: int) -> bool:
    return math.isqrt(count) ** 2 == count


def _root(value: Fraction) -> Fraction:
    """A square root, rounded down at the 40th bit."""
    return Fraction(math.isqrt(math.floor(value * (1 << 2 * _BITS))), 1 << _BITS)
