"""The worst case of a guarantee, if nothing else is known about a mechanism."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from tacit.privacy.distribution import LossDistribution
from tacit.privacy.errors import InvalidInput
from tacit.privacy.loss.base import DistributionPrice, PrivacyLoss, Stated
from tacit.privacy.loss.discrete import DiscreteLaplaceLoss
from tacit.privacy.rounding import check_delta, check_epsilon, exact, round_up

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

    def for_group(self, rows: int) -> PrivacyLoss:
        """Randomized response on one bit is discrete Laplace noise of scale 1/epsilon, so its group's loss is too."""
        if rows == 1 or self.epsilon == 0:
            return self
        return DiscreteLaplaceLoss(scale=1 / exact(self.epsilon), sensitivity=rows)

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

    def for_group(self, rows: int) -> ApproximateLoss:
        """``rows`` epsilon, and delta (e^(rows epsilon) - 1)/(e^epsilon - 1), rounded up."""
        delta = _group_delta(self, rows)
        if delta >= 1:
            raise InvalidInput(f"must be fewer: with {rows} rows of one person delta reaches 1", field="rows")
        return ApproximateLoss(epsilon=round_up(rows * exact(self.epsilon)), delta=delta)

    def distribution(self) -> LossDistribution:
        """Kairouz, Oh and Viswanath (2017): the dominating pair of (epsilon, delta)."""
        small = math.exp(-self.epsilon)  # e^epsilon may be no float
        keep = (1 - self.delta) / (1 + small)
        other = small * keep
        return LossDistribution.from_atoms([self.epsilon, -self.epsilon], [keep, other], infinity=self.delta)


def _group_delta(loss: ApproximateLoss, rows: int) -> float:
    if loss.delta == 0:
        return 0.0
    if loss.epsilon == 0:
        return round_up(rows * exact(loss.delta))
    import mpmath

    with mpmath.workprec(200):
        epsilon, delta = (mpmath.fraction(*exact(x).as_integer_ratio()) for x in (loss.epsilon, loss.delta))
        grown = mpmath.expm1(rows * epsilon) / mpmath.expm1(epsilon) * delta
        return math.nextafter(float(grown), math.inf)
