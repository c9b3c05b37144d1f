"""Several losses on the same data."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from tacit.privacy.distribution import LossDistribution, compose_all
from tacit.privacy.loss.base import DistributionPrice, PrivacyLoss, Stated, add_stated, distribution_of, sure_epsilon
from tacit.privacy.rounding import check_count

__all__ = ["ComposedLoss"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedLoss(DistributionPrice):
    """Several losses on the same data, one after the other, all of them ``times`` over.

    Examples
    --------
    >>> from tacit.privacy.loss import PureLoss
    >>> ComposedLoss(parts=(PureLoss(epsilon=0.1), PureLoss(epsilon=0.2))).pure_epsilon
    0.3
    """

    kind: ClassVar[str] = "composed"
    parts: tuple[PrivacyLoss, ...]
    times: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "times", check_count(self.times, name="times"))

    @property
    def pure_epsilon(self) -> float:
        """The exact sum, rounded up."""
        return sure_epsilon(self.stated, delta=0.0)

    @property
    def stated(self) -> Stated:
        """The exact sums of the parts' epsilons and deltas."""
        total: Stated = (Fraction(0), Fraction(0))
        for part, count in Counter(self.parts).items():
            total = add_stated(total, part.stated, times=count * self.times)
        return total

    @property
    def mu(self) -> float | None:
        """The root of the sum of squares, if every part has a mu (Dong, Roth and Su 2022, Corollary 3.3)."""
        known = [part.mu for part in self.parts]
        return None if None in known else math.hypot(*(one or 0.0 for one in known)) * math.sqrt(self.times)

    @property
    def rho(self) -> float | None:
        """The sum, if every part has a rho."""
        known = [part.rho for part in self.parts]
        return None if None in known else math.fsum(one or 0.0 for one in known) * self.times

    def for_group(self, rows: int) -> ComposedLoss:
        """Every part for the group: pairs are composed, never a sum of epsilons grouped."""
        return replace(self, parts=tuple(part.for_group(rows) for part in self.parts))

    def distribution(self) -> LossDistribution:
        """Convolution of the parts, equal ones at once."""
        return compose_all(
            distribution_of(part).power(count * self.times) for part, count in Counter(self.parts).items()
        )
