"""The spend of a part: exact sums of stated epsilons and, if the budget has a delta, a loss distribution."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.privacy.distribution import LossDistribution
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.loss import distribution_of
from tacit.privacy.loss.base import Stated, add_stated, sure_epsilon

__all__ = ["PrivacyAccount"]

_NOTHING = LossDistribution(0, np.ones(1), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyAccount:
    """The cost of all charges so far; one more charge is one addition and one convolution.

    Parameters
    ----------
    stated
        The exact sums of the charges' epsilons and deltas; None once a charge is a whole curve.
    distribution
        The composed privacy loss; None if the budget's delta is 0, because it would never be used.
    """

    stated: Stated
    distribution: LossDistribution | None

    @classmethod
    def of(cls, guarantees: Iterable[Guarantee], *, delta: float) -> PrivacyAccount:
        """Compute the account from all its charges; equal ones by repeated squaring."""
        counts = Counter(guarantee.privacy_loss for guarantee in guarantees)
        stated: Stated = (Fraction(0), Fraction(0))
        distribution = _NOTHING if delta else None
        for loss, count in counts.items():
            stated = add_stated(stated, loss.stated, times=count)
            if distribution is not None:
                distribution = distribution.compose(distribution_of(loss).power(count))
        return cls(stated=stated, distribution=distribution)

    def add(self, guarantee: Guarantee) -> PrivacyAccount:
        """Return the account after one more charge."""
        loss = guarantee.privacy_loss
        kept = self.distribution
        composed = None if kept is None else kept.compose(distribution_of(loss))
        return PrivacyAccount(stated=add_stated(self.stated, loss.stated), distribution=composed)

    def spent(self, *, delta: float) -> float:
        """Return the epsilon spent at ``delta``, rounded up: the smaller of the sum and the distribution's."""
        total = sure_epsilon(self.stated, delta=delta)
        return total if self.distribution is None else min(total, self.distribution.epsilon_at(delta))
