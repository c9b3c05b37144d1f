"""What every privacy loss can say, and the distribution of one, kept for the next call."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import ClassVar, Protocol, runtime_checkable

from tacit.privacy.distribution import LossDistribution

__all__ = ["Priced", "PrivacyLoss", "distribution_of"]


@runtime_checkable
class PrivacyLoss(Protocol):
    """Anything with a name for files, its pure epsilon (infinite if none) and its loss distribution.

    Examples
    --------
    >>> from tacit.privacy import PureLoss
    >>> isinstance(PureLoss(epsilon=1.0), PrivacyLoss)
    True
    """

    kind: ClassVar[str]

    def __hash__(self) -> int: ...

    @property
    def pure_epsilon(self) -> float:
        """The least epsilon at delta 0, or infinity."""

    def distribution(self) -> LossDistribution:
        """A distribution that dominates the mechanism's privacy loss."""

    def epsilon_at(self, delta: float) -> float:
        """The least epsilon at ``delta``, rounded up; infinite where there is none."""


class Priced:
    """The price of a loss that has no closed form of its own: its pure epsilon or its distribution's, the lesser."""

    __slots__ = ()

    @property
    def pure_epsilon(self) -> float:
        """Infinite, unless a loss says otherwise: at delta 0 it has no epsilon."""
        return math.inf

    def epsilon_at(self: PrivacyLoss, delta: float) -> float:
        """Return the least epsilon at ``delta``, rounded up; infinite where there is none.

        Examples
        --------
        >>> from tacit.privacy import PureLoss
        >>> PureLoss(epsilon=1.0).epsilon_at(0.0)
        1.0
        """
        pure = self.pure_epsilon
        return pure if delta == 0 else min(pure, distribution_of(self).epsilon_at(delta))


@lru_cache(maxsize=256)
def distribution_of(loss: PrivacyLoss) -> LossDistribution:
    """Return ``loss.distribution()``, kept for the next call.

    Examples
    --------
    >>> from tacit.privacy import PureLoss
    >>> distribution_of(PureLoss(epsilon=1.0)) is distribution_of(PureLoss(epsilon=1.0))
    True
    """
    return loss.distribution()
