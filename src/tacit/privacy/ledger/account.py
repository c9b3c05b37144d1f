"""What a part has spent: an exact sum of pure epsilons and, where the budget has a delta, a loss distribution."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.privacy.distribution import LossDistribution
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.loss import distribution_of
from tacit.privacy.rounding import exact, round_up

__all__ = ["Account"]

_NOTHING = LossDistribution(0, np.ones(1), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The cost of all charges so far; one more charge is one addition and one convolution.

    Parameters
    ----------
    pure
        The exact sum of the charges' pure epsilons; None once a charge has none.
    distribution
        The composed privacy loss; None where the budget's delta is 0 and it would never be asked.

    Examples
    --------
    >>> from tacit.privacy import Unit
    >>> tenth = Guarantee(unit=Unit.LABEL, epsilon=0.1)
    >>> Account.of([tenth] * 3, delta=0.0).spent(delta=0.0)
    0.3
    >>> Account.of([tenth] * 100, delta=1e-6).spent(delta=1e-6) < 5.3
    True
    """

    pure: Fraction | None
    distribution: LossDistribution | None

    @classmethod
    def of(cls, guarantees: Iterable[Guarantee], *, delta: float) -> Account:
        """Work out the account from all its charges; equal ones by repeated squaring."""
        counts = Counter(guarantee.privacy_loss for guarantee in guarantees)
        pure: Fraction | None = Fraction(0)
        distribution = _NOTHING if delta else None
        for loss, count in counts.items():
            pure = _sum(pure, loss.pure_epsilon, times=count)
            if distribution is not None:
                distribution = distribution.compose(distribution_of(loss).power(count))
        return cls(pure=pure, distribution=distribution)

    def add(self, guarantee: Guarantee) -> Account:
        """Return the account after one more charge."""
        loss = guarantee.privacy_loss
        kept = self.distribution
        composed = None if kept is None else kept.compose(distribution_of(loss))
        return Account(pure=_sum(self.pure, loss.pure_epsilon), distribution=composed)

    def spent(self, *, delta: float) -> float:
        """Return the epsilon spent at ``delta``, rounded up: the lesser of the sum and the distribution's."""
        pure = math.inf if self.pure is None else round_up(self.pure)
        return pure if self.distribution is None else min(pure, self.distribution.epsilon_at(delta))


def _sum(total: Fraction | None, epsilon: float, *, times: int = 1) -> Fraction | None:
    return None if total is None or math.isinf(epsilon) else total + times * exact(epsilon)
