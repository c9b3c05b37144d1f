"""The spend of a part of a data set: exact sums, in every way that the filter counts."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self

from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger.filter import DeltaUse, FilterTerms, Spend
from tacit.privacy.loss import ComposedLoss, PureLoss
from tacit.privacy.rounding import exact, round_up

__all__ = ["PrivacyAccount", "least_budget"]

_FINE = 1e-6
"""How finely what fits is searched, relatively, and how small it may be beside the budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyAccount:
    """The charges so far against a budget; one more charge is one addition.

    Parameters
    ----------
    use
        What the budget's delta is for; None before the first charge, which decides it.
    spend
        The sums; None before the first charge.
    """

    budget: Guarantee
    use: DeltaUse | None = None
    spend: Spend | None = None

    @classmethod
    def of(cls, guarantees: Sequence[Guarantee], *, budget: Guarantee, first: Guarantee | None = None) -> Self:
        """Compute the account from all its charges.

        Parameters
        ----------
        first
            The first charge that was ever made, voided or not; default: the first of these.
        """
        empty = cls(budget=budget)
        if first is None and not guarantees:
            return empty
        use = empty._use_of(guarantees[0] if first is None else first)
        terms = FilterTerms.of(budget, use)
        spend = terms.nothing
        for guarantee, count in Counter(guarantees).items():
            spend = spend.plus(terms.price(guarantee), times=count)
        return replace(empty, use=use, spend=spend)

    def add(self, guarantee: Guarantee) -> Self:
        """Return the account after one more charge."""
        use = self._use_of(guarantee) if self.use is None else self.use
        terms = FilterTerms.of(self.budget, use)
        spend = terms.nothing if self.spend is None else self.spend
        return replace(self, use=use, spend=spend.plus(terms.price(guarantee)))

    @property
    def used(self) -> float:
        """The share of the budget that is used, rounded up: at most 1 if it is kept, else infinite."""
        if self.use is None or self.spend is None:
            return 0.0
        return FilterTerms.of(self.budget, self.use).used(self.spend)

    @property
    def spent(self) -> float | None:
        """The epsilon spent, if the budget has no delta; with one there is only a share."""
        if self.budget.delta:
            return None
        if self.spend is None or self.spend.epsilon is None:
            return 0.0 if self.spend is None else math.inf
        return round_up(self.spend.epsilon)

    @property
    def left(self) -> float:
        """The largest pure epsilon that one more charge may have, rounded down."""
        return self.fitting()

    def fitting(self, *, charges: int = 1, reserved: bool = False) -> float:
        """Return the largest pure epsilon of each of so many more charges, rounded down; 0 if none fits.

        With ``reserved``: if one charge reserves all of them.

        Examples
        --------
        >>> from tacit.privacy import Unit
        >>> account = PrivacyAccount(budget=Guarantee(unit=Unit.LABEL, epsilon=1.0))
        >>> account.fitting(), account.fitting(charges=4)
        (1.0, 0.25)
        """
        rest = self._sum_fitting(charges)
        sure = rest if rest and self._holds(rest, charges) else 0.0  # the sum's delta may be used up
        if not self.budget.delta or (self.use is DeltaUse.SUMS and not reserved):
            return sure
        holds = self._holds_reserved if reserved else self._holds
        return _largest(lambda epsilon: holds(epsilon, charges), start=sure, most=self.budget.epsilon)

    def _holds_reserved(self, epsilon: float, charges: int) -> bool:
        loss = ComposedLoss(parts=(PureLoss(epsilon=epsilon),), times=charges)
        whole = Guarantee.from_loss(loss, unit=self.budget.unit, delta=self.budget.delta)
        return self.add(replace(whole, rows=self.budget.rows)).used <= 1

    def _holds(self, epsilon: float, charges: int) -> bool:
        one = Guarantee(unit=self.budget.unit, rows=self.budget.rows, epsilon=epsilon)
        use = self._use_of(one) if self.use is None else self.use
        terms = FilterTerms.of(self.budget, use)
        spend = terms.nothing if self.spend is None else self.spend
        return terms.used(spend.plus(terms.price(one), times=charges)) <= 1

    def _sum_fitting(self, charges: int) -> float:
        """What fits the sum of epsilons, rounded down."""
        spent = Fraction(0) if self.spend is None else self.spend.epsilon
        if spent is None or spent >= exact(self.budget.epsilon):
            return 0.0
        return -round_up((spent - exact(self.budget.epsilon)) / charges)

    def _use_of(self, first: Guarantee) -> DeltaUse:
        """Share delta unless the first charge states a chance to reveal everything, or fits no other way."""
        if not self.budget.delta:
            return DeltaUse.SUMS
        stated = first.privacy_loss.stated
        if stated is not None and stated[1] > 0:
            return DeltaUse.SUMS
        terms = FilterTerms.of(self.budget, DeltaUse.SHARED)
        return DeltaUse.SHARED if terms.used(terms.price(first)) <= 1 else DeltaUse.SUMS

    def to_text(self) -> str:
        """Return the sums as text, for the ledger's store."""
        if self.use is None or self.spend is None:
            return "{}"
        spend = self.spend
        return json.dumps(
            {
                "use": self.use.value,
                "epsilon": _write(spend.epsilon),
                "delta": _write(spend.delta),
                "revealed": _write(spend.revealed),
                "moments": [_write(moment) for moment in spend.moments],
                "variance": _write(spend.variance),
            }
        )

    def with_sums(self, text: str) -> Self:
        """Return the account of this budget with the sums that :meth:`to_text` wrote."""
        plain = json.loads(text)
        if not plain:
            return self
        spend = Spend(
            epsilon=_read(plain["epsilon"]),
            delta=Fraction(plain["delta"]),
            revealed=Fraction(plain["revealed"]),
            moments=tuple(_read(moment) for moment in plain["moments"]),
            variance=_read(plain["variance"]),
        )
        return replace(self, use=DeltaUse(plain["use"]), spend=spend)


def least_budget(one: Guarantee, *, charges: int, delta: float) -> Guarantee:
    """Return the least budget, to a thousandth, that accepts so many equal charges."""
    total = round_up(charges * exact(one.epsilon))
    most = Guarantee(unit=one.unit, rows=one.rows, epsilon=total, delta=delta)
    low, high = 0.0, total
    while delta and high - low > 1e-3 * high:
        middle = (low + high) / 2
        fits = PrivacyAccount.of([one] * charges, budget=replace(most, epsilon=middle)).used <= 1
        low, high = (low, middle) if fits else (middle, high)
    return replace(most, epsilon=high)


def _largest(holds: Callable[[float], bool], *, start: float, most: float) -> float:
    """Return the largest number that holds, at least ``start``, to six digits and rounded down."""
    if holds(most):
        return most
    low, high = start, most
    while high - low > _FINE * high and high > _FINE * most:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _write(value: Fraction | None) -> str | None:
    return None if value is None else str(value)


def _read(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)
