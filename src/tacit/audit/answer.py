"""May a release be handed out: yes, no or not known yet, by how much it changes anyone's odds."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum

from tacit.leak import LeakVerdict, OddsChange, compare_odds
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import AnyGuarantee, Guarantee, Unit
from tacit.privacy.rounding import check_epsilon

__all__ = ["ODDS_LIMIT", "Permission", "ReleaseState", "RunLimits", "for_one_label", "most_exposed", "state_of"]

ODDS_LIMIT = 10.0
"""The limit on the change of odds, unless a plan has another: what epsilon 2.3 allows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """The limits of a run; a run that is not shown to be below them fails.

    A release passes ``odds`` and ``advantage`` if the upper ends of all classes are below the limit. If there are too
    few rows to tell, it passes if its guarantee is below the limit.

    Parameters
    ----------
    odds
        The largest change of anyone's odds, for any class of any planned release.
    advantage
        The largest balanced advantage: the share of rows of a class that an attacker flags, minus the share of others.
    epsilon
        The largest total guarantee for one label, over all planned releases of one table.
    period
        The time that ``epsilon`` is for, in words, such as "2027"; for the record of each disclosure.
    """

    odds: float | None = None
    advantage: float | None = None
    epsilon: float | None = None
    period: str = ""

    def __post_init__(self) -> None:
        if self.period and self.epsilon is None:
            raise InvalidInput("requires epsilon, the budget of that time", field="period")
        if self.odds is not None and not 1 < self.odds < math.inf:
            raise InvalidInput(f"must be a finite number above 1, such as 10, got {self.odds}", field="odds")
        if self.advantage is not None and not 0 < self.advantage <= 1:
            raise InvalidInput(f"must be a share above 0 and at most 1, got {self.advantage}", field="advantage")
        if self.epsilon is not None:
            check_epsilon(self.epsilon)


class Permission(StrEnum):
    """Whether a release may be handed out."""

    NO = "no"
    UNKNOWN = "not known yet"
    YES = "yes"


class ReleaseState(StrEnum):
    """Why a release may be handed out or not, in the words of the page; the most harmful first."""

    VIOLATED = "its guarantee is violated"
    DETERMINED = "labels are determined for certain"
    ABOVE = "above the limit"
    DOUBTFUL = "a better attack may find more"
    UNKNOWN = "too few rows to tell"
    GUARANTEED = "by guarantee; too few rows to check it"
    BELOW = "below the limit"

    @property
    def answer(self) -> Permission:
        """Whether a release in this state may be handed out."""
        return _ANSWERS.get(self, Permission.NO)

    @property
    def harm(self) -> int:
        """The rank of the state; 0 is the most harmful."""
        return [*ReleaseState].index(self)


_ANSWERS = {
    ReleaseState.DOUBTFUL: Permission.UNKNOWN,
    ReleaseState.UNKNOWN: Permission.UNKNOWN,
    ReleaseState.GUARANTEED: Permission.YES,
    ReleaseState.BELOW: Permission.YES,
}
_VERDICTS = {LeakVerdict.ABOVE: ReleaseState.ABOVE, LeakVerdict.BELOW: ReleaseState.BELOW}


def state_of(changes: tuple[OddsChange, ...], guarantee: AnyGuarantee, *, rows: int, limit: float) -> ReleaseState:
    """Compare the changes of odds with a limit; if rows are too few to tell, compare the guarantee.

    A guarantee is below the limit if e^epsilon is, for one label, and delta is below 1/(10 rows).
    """
    measured = _VERDICTS.get(compare_odds(changes, limit=limit))
    if measured is not None:
        return measured
    held = for_one_label(guarantee)
    below = held is not None and held.epsilon < math.log(limit) and held.delta * 10 * rows < 1
    return ReleaseState.GUARANTEED if below else ReleaseState.UNKNOWN


def for_one_label(guarantee: AnyGuarantee) -> Guarantee | None:
    """Return what is guaranteed for one label of one row; None if nothing is."""
    if not isinstance(guarantee, Guarantee) or guarantee.unit is Unit.BAG:
        return None
    return replace(guarantee.for_unit(Unit.LABEL), rows=1)


def most_exposed(changes: tuple[OddsChange, ...], *, limit: float) -> OddsChange | None:
    """Return the class that decides: the worst of those above the limit, else of those not known to be below it."""
    above = [change for change in changes if change.odds_interval.low >= limit]
    unknown = [change for change in changes if change.odds_interval.high >= limit]
    return next(iter(above or unknown or changes), None)
