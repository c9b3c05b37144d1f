"""Several losses on the same data."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from tacit.privacy.distribution import LossDistribution
from tacit.privacy.loss.base import Priced, PrivacyLoss, distribution_of
from tacit.privacy.rounding import exact, round_up

__all__ = ["ComposedLoss"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedLoss(Priced):
    """Several losses on the same data, one after the other.

    Examples
    --------
    >>> from tacit.privacy import PureLoss
    >>> ComposedLoss(parts=(PureLoss(epsilon=0.1), PureLoss(epsilon=0.2))).pure_epsilon
    0.3
    """

    kind: ClassVar[str] = "composed"
    parts: tuple[PrivacyLoss, ...]

    @property
    def pure_epsilon(self) -> float:
        """The exact sum, rounded up."""
        epsilons = [part.pure_epsilon for part in self.parts]
        return math.inf if math.inf in epsilons else round_up(sum(map(exact, epsilons), Fraction(0)))

    def distribution(self) -> LossDistribution:
        """Convolution of the parts; equal parts by repeated squaring.

        Examples
        --------
        >>> from tacit.privacy import PureLoss
        >>> round(ComposedLoss(parts=(PureLoss(epsilon=1.0),) * 2).distribution().epsilon_at(1e-9), 6)
        2.0
        """
        result = LossDistribution(0, np.ones(1), 0.0)
        for part, count in Counter(self.parts).items():
            result = result.compose(distribution_of(part).power(count))
        return result
