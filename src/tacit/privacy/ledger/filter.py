"""The filter: which sums a charge must fit, fixed before the first release and whatever is chosen after looking."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import Self

from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger.costs import log_moment, revealed, variance
from tacit.privacy.loss import ComposedLoss, PrivacyLoss
from tacit.privacy.loss.variances import largest_variance
from tacit.privacy.rounding import exact, round_up

__all__ = ["DeltaUse", "FilterTerms", "Spend"]

_GAUSSIAN = Fraction(1, 2)
_RENYI = (Fraction(1, 8), Fraction(1, 8))
_CURVES = Fraction(1, 8)
_REVEALED = Fraction(1, 8)
"""How delta is shared: the Gaussian filter, two Renyi orders, curves that are added as (epsilon, delta), and charges
that may reveal everything with a stated chance."""

_STEPS = (2.0, 4.0)  # the orders are 1 + step log(1/delta) / epsilon
_RESERVE = 0.03  # of the Gaussian filter's variance
_PIECE = Fraction(1, 2)  # of the curves' share: one charge's delta
_UNITS = 10**30  # sums are multiples of 1/_UNITS, so that their order does not matter
_CHEAPER = Fraction(9, 10)

Sum = Fraction | None
"""An exact sum; None if it is infinite."""


class DeltaUse(StrEnum):
    """What an account's delta is for: decided by its first charge, which depends on no outcome."""

    SHARED = "shared"
    SUMS = "sums"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """What charges cost together, in every way that the filter counts.

    Parameters
    ----------
    epsilon, delta
        The sum of the charges as (epsilon, delta).
    revealed
        The sum of the chances that a charge reveals everything.
    moments, variance
        The sums of the losses' moments at each order, and of the Gaussian variances that stand for them.
    """

    epsilon: Sum
    delta: Fraction
    revealed: Fraction
    moments: tuple[Sum, ...]
    variance: Sum

    def plus(self, other: Self, *, times: int = 1) -> Spend:
        """Return the sum, with the other ``times`` over."""
        return Spend(
            epsilon=_plus(self.epsilon, other.epsilon, times),
            delta=self.delta + times * other.delta,
            revealed=self.revealed + times * other.revealed,
            moments=tuple(_plus(a, b, times) for a, b in zip(self.moments, other.moments, strict=True)),
            variance=_plus(self.variance, other.variance, times),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterTerms:
    """The limits of a budget: charges may go on while one of the sums is within its limit.

    If charges are chosen after looking, the privacy loss distributions of those on the path that was taken do not
    compose. Each of these sums does, and their deltas add up to the budget's.

    References
    ----------
    docs/proofs/filter.md; Rogers et al. (2016) for sums; Feldman and Zrnic (2021) for Renyi orders.
    """

    use: DeltaUse
    epsilon: Fraction
    delta: Fraction
    revealed: Fraction
    orders: tuple[float, ...] = ()
    limits: tuple[Fraction, ...] = ()
    reserve: float = 0.0
    variance: Fraction = Fraction(0)

    @classmethod
    def of(cls, budget: Guarantee, use: DeltaUse) -> FilterTerms:
        """Return a budget's limits; without a delta there is one, the sum of epsilons."""
        return _terms(budget.epsilon, budget.delta, use if budget.delta else DeltaUse.SUMS)

    @property
    def nothing(self) -> Spend:
        """The spend before the first charge."""
        none = Fraction(0)
        return Spend(epsilon=none, delta=none, revealed=none, moments=(none,) * len(self.orders), variance=none)

    def price(self, guarantee: Guarantee) -> Spend:
        """Return what one charge costs."""
        return _price(self, guarantee.privacy_loss, guarantee.epsilon, guarantee.delta)

    def shares(self, spend: Spend) -> Iterable[float]:
        """Return the share of its limit that each sum has reached, at most 1 for one that still fits."""
        whole = spend.delta + spend.revealed if self.use is DeltaUse.SUMS else spend.delta
        slack = _share(spend.revealed, self.revealed)
        yield max(_share(spend.epsilon, self.epsilon), _share(whole, self.delta), slack)
        if self.use is DeltaUse.SHARED:
            yield max(_share(spend.variance, self.variance), slack)
            for moment, limit in zip(spend.moments, self.limits, strict=True):
                yield max(_share(moment, limit), slack)

    def used(self, spend: Spend) -> float:
        """Return the share of the filter that is used: that of the sum with the most room."""
        return min(self.shares(spend))


def _share(part: Sum, limit: Fraction) -> float:
    """How much of a limit is reached, rounded up; infinite beyond it."""
    if part is None or part > limit:
        return math.inf
    return min(1.0, round_up(part / limit)) if part else 0.0


@lru_cache(maxsize=256)
def _terms(epsilon: float, delta: float, use: DeltaUse) -> FilterTerms:
    whole, shared = exact(delta), exact(epsilon)
    if use is DeltaUse.SUMS:
        return FilterTerms(use=use, epsilon=shared, delta=whole, revealed=whole)
    orders = tuple(1 + min(max(step * -math.log(delta) / max(epsilon, 1e-6), 1e-3), 1e6) for step in _STEPS)
    most = largest_variance(epsilon, delta=float(_GAUSSIAN * whole))
    return FilterTerms(
        use=use,
        epsilon=shared,
        delta=_CURVES * whole,
        revealed=_REVEALED * whole,
        orders=orders,
        limits=tuple(_limit(order, epsilon, float(share * whole)) for order, share in zip(orders, _RENYI, strict=True)),
        reserve=_RESERVE * most,
        variance=Fraction(most * (1 - _RESERVE) * (1 - 1e-9)),
    )


def _limit(order: float, epsilon: float, delta: float) -> Fraction:
    """The largest log moment m with (1/a) (1 - 1/a)^(a - 1) e^(m - (a - 1) epsilon) <= delta, rounded down.

    References
    ----------
    Canonne, Kamath and Steinke (2020), Proposition 12.
    """
    terms = ((order - 1) * epsilon, math.log(delta), math.log(order), (1 - order) * math.log1p(-1 / order))
    return Fraction(math.fsum(terms) - 1e-9 * sum(map(abs, terms)))


@lru_cache(maxsize=4096)
def _price(terms: FilterTerms, loss: PrivacyLoss, epsilon: float, delta: float) -> Spend:
    own = exact(epsilon), exact(delta)
    if terms.use is DeltaUse.SUMS:
        stated = loss.stated
        sure = stated if stated is not None and (stated[1] > 0 or stated[0] * _CHEAPER <= own[0]) else own
        return Spend(epsilon=sure[0], delta=sure[1], revealed=Fraction(0), moments=(), variance=Fraction(0))
    sum_epsilon, sum_delta = _pair(terms, loss, *own)
    return Spend(
        epsilon=sum_epsilon,
        delta=sum_delta,
        revealed=_up(revealed(loss)) or Fraction(0),
        moments=tuple(_up(log_moment(loss, order)) for order in terms.orders),
        variance=_up(variance(loss, terms.reserve)),
    )


def _pair(terms: FilterTerms, loss: PrivacyLoss, epsilon: Fraction, delta: Fraction) -> tuple[Sum, Fraction]:
    """The loss as (epsilon, delta): what it states, or what a curve or a whole plan costs at a piece of delta."""
    stated = loss.stated
    if stated is not None and (stated[1] > 0 or not isinstance(loss, ComposedLoss)):
        return stated[0], Fraction(0)  # a stated delta counts as revealed
    piece = min(_PIECE * terms.delta, delta) if delta else _PIECE * terms.delta
    curve = epsilon if piece == delta else _up(loss.epsilon_at(float(piece)))
    if stated is None:
        return curve, piece
    return (curve, piece) if curve is not None and curve < _CHEAPER * stated[0] else (stated[0], Fraction(0))


def _up(value: float) -> Sum:
    """The next multiple of 1/_UNITS; None for infinity."""
    return Fraction(math.ceil(Fraction(value) * _UNITS), _UNITS) if math.isfinite(value) else None


def _plus(one: Sum, other: Sum, times: int) -> Sum:
    return None if one is None or other is None else one + times * other
