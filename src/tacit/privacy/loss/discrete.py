"""The loss of exact noise on integers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from tacit.privacy.distribution import LARGEST, LossDistribution
from tacit.privacy.errors import InvalidInput
from tacit.privacy.loss.base import DistributionPrice
from tacit.privacy.loss.curve import discrete_gaussian_epsilon
from tacit.privacy.rounding import check_count, exact, round_up

__all__ = ["DiscreteGaussianLoss", "DiscreteLaplaceLoss"]

_HUGE = Fraction(10**100)
_MOST = 200_000  # outcomes, or about so many: an array of them takes megabytes, not gigabytes


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplaceLoss(DistributionPrice):
    """Integer noise with P(k) proportional to e^(-|k|/scale) on a query of integer sensitivity.

    Examples
    --------
    >>> DiscreteLaplaceLoss(scale=Fraction(2), sensitivity=1).pure_epsilon
    0.5
    """

    kind: ClassVar[str] = "discrete_laplace"
    scale: Fraction
    sensitivity: int

    def __post_init__(self) -> None:
        _check_noise(self)

    @property
    def pure_epsilon(self) -> float:
        """Sensitivity / scale, rounded up."""
        return round_up(Fraction(self.sensitivity) / self.scale)

    def for_group(self, rows: int) -> DiscreteLaplaceLoss:
        """As many times the sensitivity."""
        return replace(self, sensitivity=rows * self.sensitivity)

    @property
    def outcomes(self) -> int:
        """How many outcomes the distribution takes together, all as if at the first, of the largest loss."""
        return max(1, self.sensitivity // _MOST)

    def distribution(self) -> LossDistribution:
        """The outcomes 0..D between two outputs D apart; beyond them the loss is +-D/scale."""
        if self.pure_epsilon > LARGEST:  # counts as infinite
            return LossDistribution(0, np.zeros(1), 1.0)
        D, scale, block = self.sensitivity, float(self.scale), self.outcomes
        alpha = math.exp(-1 / scale)
        ends = np.append(np.arange(1, D, block, dtype=np.float64), D)
        inner = (np.exp(-ends[:-1] / scale) - np.exp(-ends[1:] / scale)) / (1 + alpha)
        losses = np.concatenate([[D], D - 2 * ends[:-1], [-D]]) / scale
        masses = np.concatenate([[1 / (1 + alpha)], inner, [math.exp(-D / scale) / (1 + alpha)]])
        return LossDistribution.from_atoms(losses, masses)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussianLoss(DistributionPrice):
    """Integer noise with P(k) proportional to e^(-k^2 / 2 scale^2) on a query of integer sensitivity.

    References
    ----------
    Canonne, Kamath and Steinke (2020), Theorem 7.

    Examples
    --------
    >>> DiscreteGaussianLoss(scale=Fraction(4), sensitivity=1).pure_epsilon
    inf
    """

    kind: ClassVar[str] = "discrete_gaussian"
    scale: Fraction
    sensitivity: int

    def __post_init__(self) -> None:
        _check_noise(self)

    @property
    def rho(self) -> float:
        """(sensitivity / scale)^2 / 2 (Canonne, Kamath and Steinke 2020, Theorem 4)."""
        return float(self.sensitivity / self.scale) ** 2 / 2 * (1 + 1e-15)

    def epsilon_at(self, delta: float) -> float:
        """The least epsilon of one use, exactly from the curve: the distribution's grid would add a little."""
        if delta == 0:
            return self.pure_epsilon
        return discrete_gaussian_epsilon(self.scale, delta=delta, sensitivity=self.sensitivity)

    def for_group(self, rows: int) -> DiscreteGaussianLoss:
        """As many times the sensitivity."""
        return replace(self, sensitivity=rows * self.sensitivity)

    @property
    def outcomes(self) -> int:
        """How many outcomes the distribution takes together, all as if at the first, of the largest loss."""
        return max(1, math.floor(25 * float(self.scale) / _MOST))

    def distribution(self) -> LossDistribution:
        """Losses (D^2 - 2kD) / 2 scale^2; the tail that is left out counts as infinite loss."""
        shift = self.sensitivity / self.scale
        if shift > LARGEST / 10:  # every loss is beyond the largest
            return LossDistribution(0, np.zeros(1), 1.0)
        D, scale, block = self.sensitivity, float(self.scale), self.outcomes
        reach = math.ceil(12.5 * scale) + 1  # P(|X| > 12.5 scale) < 1e-34
        k = np.arange(-reach, reach + 1, block, dtype=np.float64)
        # within a block the sum over outcomes is block times the value in the middle, to a few parts in 10^8
        mass = np.exp(-((k + (block - 1) / 2) ** 2) / (2 * scale * scale))
        mass /= mass.sum()
        return LossDistribution.from_atoms((D * D - 2 * k * D) / (2 * scale * scale), mass, infinity=1e-33)


def _check_noise(loss: DiscreteLaplaceLoss | DiscreteGaussianLoss) -> None:
    """Check the parameters: a negative loss would refund a budget, and files take only Python's own numbers."""
    if not 1 / _HUGE <= loss.scale <= _HUGE:  # beyond, floats overflow
        raise InvalidInput(f"scale must be > 0 and from 1e-100 to 1e100, got {loss.scale}")
    object.__setattr__(loss, "scale", exact(loss.scale))
    object.__setattr__(loss, "sensitivity", check_count(loss.sensitivity, name="sensitivity"))
    if loss.sensitivity > _HUGE:
        raise InvalidInput(f"sensitivity must be at most 1e100, got {loss.sensitivity}")
