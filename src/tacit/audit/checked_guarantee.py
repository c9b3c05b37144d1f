"""What an attack found, compared with a limit: of one release, or of several together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from tacit.audit.answer import ODDS_LIMIT, Permission, ReleaseState, for_one_label, most_exposed, state_of
from tacit.audit.words import MOST_FOLDS, fold, in_odds, percent, proved, span
from tacit.leak import Leak, OddsChange
from tacit.leak.stored_result import StoredResult
from tacit.privacy.guarantee import AnyGuarantee, Guarantee

__all__ = ["CheckedGuarantee", "explain", "finite"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedGuarantee(StoredResult):
    """What was guaranteed and measured, and what follows from it.

    Parameters
    ----------
    data
        The data set, in words.
    column, rows
        The private column, and the number of rows of the table.
    subject
        What a class of the leak is a value of: the private column, or empty where the attack names no label.
    groups
        The most exposed class of each group of rows, worst first, if the plan names a column of groups.
    certain
        How many labels are determined.
    doubt
        Why a change of odds below the limit would prove nothing, in words; empty: it does.
    limit
        The limit on the change of odds; set by the run.
    """

    known_as: ClassVar[str] = "a finding"

    data: str
    column: str
    rows: int
    guarantee: AnyGuarantee
    leak: Leak
    subject: str = ""
    groups: tuple[OddsChange, ...] = ()
    certain: int = 0
    doubt: str = ""
    limit: float = ODDS_LIMIT

    @property
    def epsilon(self) -> float | None:
        """The guaranteed epsilon; None if nothing is guaranteed."""
        return self.guarantee.epsilon if isinstance(self.guarantee, Guarantee) else None

    @property
    def broken(self) -> bool:
        """Whether the leak proves more than the guarantee allows: a bug in one of the two."""
        return (
            isinstance(self.guarantee, Guarantee) and self.leak.bound is not None and self.leak.exceeds(self.guarantee)
        )

    @property
    def exposures(self) -> tuple[OddsChange, ...]:
        """The changes of odds that decide: of every class, and of the groups that are above the limit by themselves."""
        return (*self.leak.changes, *(group for group in self.groups if group.odds_interval.low >= self.limit))

    @property
    def follows_order(self) -> bool:
        """Whether the attack read labels off the order of the rows, which no guarantee for one label limits."""
        return "with_order" in self.leak.facts

    @property
    def shared_by(self) -> str:
        """The column whose equal values reveal each other's labels, which no guarantee for one label limits."""
        return str(self.leak.facts.get("same_value_of", ""))

    @property
    def beyond_guarantee(self) -> bool:
        """Whether a change of odds is surely larger than the guarantee for one label allows if the others are fixed."""
        held = for_one_label(self.guarantee)
        if held is None or held.epsilon >= math.log(self.limit):
            return False
        return any(
            change.flagged_interval.low > math.exp(held.epsilon) * change.falsely_flagged_interval.high + held.delta
            for change in self.exposures
        )

    @property
    def measured(self) -> ReleaseState:
        """What the attack and the guarantee decide."""
        if self.broken:
            return ReleaseState.VIOLATED
        if self.certain:
            return ReleaseState.DETERMINED
        state = ReleaseState.ABOVE if self.proved_above else self.by_odds
        if self.doubt and state.answer is not Permission.NO:
            return ReleaseState.DOUBTFUL
        related = self.follows_order or self.shared_by or self.beyond_guarantee
        return ReleaseState.UNKNOWN if related and state is ReleaseState.GUARANTEED else state

    @property
    def by_odds(self) -> ReleaseState:
        """What the change of odds decides, or the guarantee where rows are too few."""
        return state_of(self.exposures, self.guarantee, rows=self.rows, limit=self.limit)

    @property
    def proved_above(self) -> bool:
        """Whether the attack proves a larger epsilon than the limit allows, of what guarantees nothing."""
        return self.epsilon is None and self.leak.bound is not None and self.leak.bound.value >= math.log(self.limit)

    @property
    def state(self) -> ReleaseState:
        """What decides whether it may be handed out."""
        return self.measured

    @property
    def answer(self) -> Permission:
        """Whether it may be handed out."""
        return self.state.answer

    @property
    def reason(self) -> str:
        """Why it may be handed out or not, one sentence."""
        return explain(self)

    def suspected(self, change: OddsChange) -> str:
        """Return what a flagged person is suspected of: a label of the private column, or what the attack names."""
        return f"{self.subject} = {change.name}" if self.subject else change.name

    @property
    def exposed(self) -> float:
        """The change of odds that the attack shows at least, of the class that is worst off."""
        return max((change.odds_interval.low for change in self.exposures), default=0.0)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON, with what follows from it."""
        return {
            **StoredResult.to_json(self),
            "answer": self.answer.value,
            "state": self.state.value,
            "reason": self.reason,
            "broken": self.broken,
            "changes": [_plain_change(change) for change in (*self.leak.changes, *self.groups)],
        }


def explain(found: CheckedGuarantee) -> str:
    """Say what decides: a violated guarantee, determined labels, or the change of odds of the most exposed class."""
    if found.measured is ReleaseState.VIOLATED:
        bound = proved(found.leak.epsilon_lower_bound)
        return f"The guarantee is {found.guarantee}, but the attack shows that epsilon is {bound}."
    if found.measured is ReleaseState.DETERMINED:
        copies, several = found.leak.facts.get("copies", ()), found.leak.facts.get("releases")
        how = f" by the exact totals of {several} releases together" if several else ""
        how = f" by the released {'columns' if len(copies) > 1 else 'column'} {', '.join(copies)}" if copies else how
        return f"{found.certain:,} label{'s are' if found.certain > 1 else ' is'} determined for certain{how}."
    if found.proved_above and found.by_odds is not ReleaseState.ABOVE:
        return _by_bound(found)
    if found.measured is ReleaseState.DOUBTFUL:
        return f"{found.doubt[0].upper()}{found.doubt[1:]}."
    ends = f"and the limit is {found.limit:g}-fold{_related(found)}"
    if found.measured is ReleaseState.GUARANTEED:
        allowed = f"{found.guarantee} allows the odds to change {in_odds(found.guarantee)}"
        return f"By guarantee: {allowed}, {ends}; there are too few rows to check it."
    change = most_exposed(found.exposures, limit=found.limit)
    if change is None:
        return f"The attack measures no change of odds, {ends}."
    return _by_odds(found, change, ends)


def _by_bound(found: CheckedGuarantee) -> str:
    bound = found.leak.epsilon_lower_bound
    return (
        f"The attack shows that epsilon is {proved(bound)}: the odds of some row change at least "
        f"{fold(math.exp(bound))}-fold, and the limit is {found.limit:g}-fold."
    )


def _by_odds(found: CheckedGuarantee, change: OddsChange, ends: str) -> str:
    low, high = fold(change.odds_interval.low), fold(change.odds_interval.high)
    told = f"{_suspicion(change, found.suspected(change))}: the odds change"
    if found.measured is ReleaseState.ABOVE:
        return f"{told} at least {low}-fold, {ends}."
    if found.measured is ReleaseState.BELOW:
        held = isinstance(found.guarantee, Guarantee)
        return f"{told} at most {high}-fold, {ends}{'' if held else _BARE}."
    told = f"{told[0].lower()}{told[1:].replace(': the odds', ', so the odds may')}"
    return f"Too few rows to tell: {told} {_reach(low, high, change)}, {ends}."


def _reach(low: str, high: str, change: OddsChange) -> str:
    """Say what the change of odds may be; below 1-fold is chance, and says nothing to a reader."""
    bounded, harmless = change.odds_interval.high < MOST_FOLDS, change.odds_interval.low <= 1
    if harmless:
        return f"not at all or up to {high}-fold" if bounded else "not at all or without limit"
    return f"{low}-fold to {high}-fold" if bounded else f"{low}-fold or more"


_ORDER = "; neighbors in the order of the rows reveal labels"
_BEYOND = (
    "; rows that resemble each other reveal more than the guarantee allows for one label when the others are fixed"
)
_BARE = "; nothing is guaranteed, so a better attack may find more"


def _related(found: CheckedGuarantee) -> str:
    """Say why the guarantee for one label does not limit what was measured; empty where it does."""
    shared = f"; rows of the same value of {found.shared_by} reveal each other's labels" if found.shared_by else ""
    known = f"{_ORDER if found.follows_order else ''}{shared}"
    return known or (_BEYOND if found.beyond_guarantee else "")


def _suspicion(change: OddsChange, suspected: str) -> str:
    after = f"{percent(change.suspicion)} ({span(change.suspicion_interval)})"
    person = f"flagged person {change.scope}".rstrip()
    return f"Suspicion of {suspected} goes from {percent(change.share)} to {after} for a {person}"


def _plain_change(change: OddsChange) -> dict[str, Any]:
    plain: dict[str, Any] = {"class": change.name, "share": change.share}
    for name in ("suspicion", "odds", "advantage"):
        interval = getattr(change, f"{name}_interval").to_json()
        plain[name] = finite(getattr(change, name))
        plain[f"{name}_interval"] = {end: finite(value) for end, value in interval.items()}
    return plain


def finite(number: float) -> float | None:
    """Return a number that JSON has; None for infinity."""
    return number if math.isfinite(number) else None
