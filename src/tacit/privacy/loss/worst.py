"""The worst case of a guarantee, if nothing else is known about a mechanism."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from tacit.privacy.distribution import LossDistribution
from tacit.privacy.loss.base import DistributionPrice, Stated
from tacit.privacy.rounding import check_delta, check_epsilon, exact

__all__ = ["ApproximateLoss", "PureLoss"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PureLoss(DistributionPrice):
    """The worst that an epsilon-DP mechanism can do: two outcomes with losses +epsilon and -epsilon."""

    kind: ClassVar[str] = "pure"
    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon, zero=True))

    @property
    def pure_epsilon(self) -> float:
        """Epsilon itself."""
        return self.epsilon

    def distribution(self) -> LossDistribution:
        """Randomized response on one bit: it dominates every epsilon-DP mechanism."""
        keep = 1 / (1 + math.exp(-self.epsilon))
        return LossDistribution.from_atoms([self.epsilon, -self.epsilon], [keep, 1 - keep])


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproximateLoss(DistributionPrice):
    """The worst that an (epsilon, delta)-DP mechanism can do: with probability delta it reveals everything.

    Examples
    --------
    >>> ApproximateLoss(epsilon=1.0, delta=1e-5).pure_epsilon
    inf
    """

    kind: ClassVar[str] = "approximate"
    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon, zero=True))
        object.__setattr__(self, "delta", check_delta(self.delta))

    @property
    def pure_epsilon(self) -> float:
        """Epsilon if delta is 0, else infinite."""
        return self.epsilon if self.delta == 0 else math.inf

    @property
    def stated(self) -> Stated:
        """Epsilon and delta themselves."""
        return exact(self.epsilon), exact(self.delta)

    def distribution(self) -> LossDistribution:
        """Kairouz, Oh and Viswanath (2017): the dominating pair of (epsilon, delta)."""
        small = math.exp(-self.epsilon)  # e^epsilon may be no float
        keep = (1 - self.delta) / (1 + small)
        other = small * keep
        return LossDistribution.from_atoms([self.epsilon, -self.epsilon], [keep, other], infinity=self.delta)
