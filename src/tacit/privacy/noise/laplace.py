"""Discrete Laplace noise: the integer noise of pure epsilon, drawn without a float."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.guarantee import Guarantee, Unit
from tacit.privacy.loss import DiscreteLaplaceLoss
from tacit.privacy.noise.coin import ExpCoin, flip_exp
from tacit.privacy.noise.digits import uniform_digits
from tacit.privacy.noise.rejection import Shape, draw_accepted, representable_scale
from tacit.privacy.rounding import check_count, check_epsilon, exact

__all__ = ["DiscreteLaplace"]

_ONE_IN_E = ExpCoin(rate=Fraction(1))


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplace:
    """Integer noise with P(k) proportional to e^(-|k|/scale).

    Added to an integer query that one unit moves by at most D, it is (D/scale)-differentially private: the ratio
    of two outputs' probabilities is at most e^(D/scale), exactly. Not protected: the time that a draw takes, and
    anything without the noise.

    Parameters
    ----------
    scale
        A rational > 0, at most 2^52; a float is read as the decimal that it prints. If its numerator or denominator
        exceeds 2^52 it is rounded up, toward more noise.

    References
    ----------
    Ghosh, Roughgarden and Sundararajan (2012); Canonne, Kamath and Steinke (2020), Algorithm 2.
    Proof: docs/proofs/discrete_laplace.md.

    Examples
    --------
    >>> noise = DiscreteLaplace.for_epsilon(0.5)
    >>> noise.scale, round(noise.variance, 6)
    (Fraction(2, 1), 7.835396)
    >>> noise.draw(4, rng=np.random.default_rng(0)).dtype
    dtype('int64')
    """

    scale: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", representable_scale(self.scale))

    @classmethod
    def for_epsilon(cls, epsilon: float, *, sensitivity: int = 1) -> DiscreteLaplace:
        """Return the least noise that gives ``epsilon`` to a query of this integer sensitivity."""
        D = check_count(sensitivity, name="sensitivity")
        return cls(scale=D / exact(check_epsilon(epsilon)))

    @property
    def variance(self) -> float:
        """2a / (1 - a)^2 with a = e^(-1/scale)."""
        rate = float(1 / self.scale)
        return 2 * math.exp(-rate) / math.expm1(-rate) ** 2

    def pmf(self, k: ArrayLike) -> NDArray[np.float64]:
        """Return P(k) = (1 - a)/(1 + a) a^|k|, a = e^(-1/scale), as floats."""
        rate = float(1 / self.scale)
        return np.asarray(math.tanh(rate / 2) * np.exp(-np.abs(np.asarray(k, dtype=np.float64)) * rate))

    def draw(self, size: Shape, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw noise of the given size or shape."""
        zero = math.tanh(float(1 / self.scale) / 2)
        chance = (1 - math.exp(-1)) / (1 + zero)
        return draw_accepted(size, propose=self._propose, chance=chance, rng=rng)

    def loss(self, *, sensitivity: int) -> DiscreteLaplaceLoss:
        """Return the privacy loss of a query of this sensitivity."""
        return DiscreteLaplaceLoss(scale=self.scale, sensitivity=check_count(sensitivity, name="sensitivity"))

    def guarantee(self, *, sensitivity: int, unit: Unit, delta: float = 0.0) -> Guarantee:
        """Return the guarantee to one ``unit``, which moves the query by at most ``sensitivity``."""
        return Guarantee.from_loss(self.loss(sensitivity=sensitivity), unit=unit, delta=delta)

    def _propose(self, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        t, s = self.scale.numerator, self.scale.denominator
        within = rng.integers(0, t, size=count)
        within = within[flip_exp(within, denominator=t, rng=rng)]
        whole = _ONE_IN_E.count_heads(len(within), rng=rng)
        magnitude = (within + t * whole) // s  # t <= 2^52 and whole < 512: below 2^61
        negative = uniform_digits(len(magnitude), rng=rng) & 1 == 1
        accepted: NDArray[np.bool_] = ~(negative & (magnitude == 0))  # 0 must not be counted twice
        signed: NDArray[np.int64] = np.where(negative, -magnitude, magnitude)
        return signed[accepted]
