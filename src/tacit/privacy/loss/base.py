"""The interface of every privacy loss, and a cache of distributions."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Protocol, runtime_checkable

from tacit.privacy.distribution import LossDistribution
from tacit.privacy.rounding import exact, round_up

__all__ = ["DistributionPrice", "PrivacyLoss", "Stated", "add_stated", "distribution_of", "sure_epsilon"]

Stated = tuple[Fraction, Fraction] | None
"""An exact epsilon and delta that were guaranteed; None if there is only a curve."""

_LARGEST_PURE, _SMALL = 600.0, 2e-3


@runtime_checkable
class PrivacyLoss(Protocol):
    """Anything with a name for files, its pure epsilon (infinite if none) and its loss distribution."""

    kind: ClassVar[str]

    def __hash__(self) -> int: ...

    @property
    def pure_epsilon(self) -> float:
        """The least epsilon at delta 0, or infinity."""

    @property
    def stated(self) -> Stated:
        """An exact epsilon and delta that add up over releases; None if the loss is a whole curve."""

    @property
    def mu(self) -> float | None:
        """The least mu known for which it is mu-Gaussian private; None if none is known."""

    @property
    def rho(self) -> float | None:
        """The least rho known of zero-concentrated privacy; None if none is known."""

    def distribution(self) -> LossDistribution:
        """A distribution that dominates the mechanism's privacy loss."""

    def epsilon_at(self, delta: float) -> float:
        """The least epsilon at ``delta``, rounded up; infinite if there is none."""

    def for_group(self, rows: int) -> PrivacyLoss:
        """The loss for inputs that differ in ``rows`` units, one after the other (docs/proofs/groups.md)."""


class DistributionPrice:
    """The cost of a loss without a closed form: its stated epsilon or its distribution's, whichever is smaller."""

    __slots__ = ()

    @property
    def pure_epsilon(self) -> float:
        """Infinite by default: at delta 0 the loss has no epsilon."""
        return math.inf

    @property
    def stated(self) -> Stated:
        """By default the pure epsilon and a delta of 0; None if there is no pure epsilon."""
        pure = self.pure_epsilon
        return None if math.isinf(pure) else (exact(pure), Fraction(0))

    @property
    def mu(self) -> float | None:
        """2 Phi^-1(e^epsilon / (1 + e^epsilon)) of a pure epsilon, whose trade-off curve touches that of N(mu, 1)."""
        from scipy.special import ndtri

        pure = self.pure_epsilon
        if pure >= _LARGEST_PURE:
            return None
        if pure >= _SMALL:
            return -2 * float(ndtri(1 / (1 + math.exp(pure)))) * (1 + 1e-12)
        t = math.tanh(pure / 2)  # near 1/2, ndtri loses digits: the series of erf's inverse
        return math.sqrt(2 * math.pi) * (t + math.pi * t**3 / 12 + 7 * math.pi**2 * t**5 / 480) * (1 + 1e-12)

    @property
    def rho(self) -> float | None:
        """epsilon^2 / 2 of a pure epsilon (Bun and Steinke 2016, Proposition 1.4)."""
        pure = self.pure_epsilon
        return pure**2 / 2 if pure < _LARGEST_PURE else None

    def epsilon_at(self: PrivacyLoss, delta: float) -> float:
        """Return the least epsilon at ``delta``, rounded up; infinite if there is none."""
        sure = sure_epsilon(self.stated, delta=delta)
        return sure if delta == 0 else min(sure, distribution_of(self).epsilon_at(delta))


def sure_epsilon(stated: Stated, *, delta: float) -> float:
    """Return the stated epsilon, rounded up, if the stated delta is at most ``delta``; else infinity."""
    return round_up(stated[0]) if stated is not None and stated[1] <= exact(delta) else math.inf


def add_stated(one: Stated, other: Stated, *, times: int = 1) -> Stated:
    """Return what two losses, the other ``times`` over, state together: the sums, exactly (Dwork et al. 2006)."""
    return None if one is None or other is None else (one[0] + times * other[0], one[1] + times * other[1])


@lru_cache(maxsize=256)
def distribution_of(loss: PrivacyLoss) -> LossDistribution:
    """Return ``loss.distribution()``, kept for the next call."""
    return loss.distribution()
