"""Why a release may be handed out or not, in one sentence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tacit.audit.answer import State, most_exposed
from tacit.audit.words import fold, in_odds, percent, proved, span
from tacit.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from tacit.audit.judged import Judged
    from tacit.leak import OddsChange

__all__ = ["explain"]


def explain(found: Judged) -> str:
    """Say what decides: a violated guarantee, determined labels, or the change of odds of the most exposed class."""
    if found.measured is State.VIOLATED:
        bound = proved(found.leak.epsilon_lower_bound)
        return f"The guarantee is {found.guarantee}, but the attack shows that epsilon is {bound}."
    if found.measured is State.DETERMINED:
        return f"{found.certain:,} label{'s are' if found.certain > 1 else ' is'} determined for certain."
    ends = f"and the limit is {found.limit:g}-fold"
    if found.measured is State.GUARANTEED:
        allowed = f"{found.guarantee} allows the odds to change {in_odds(found.guarantee)}"
        return f"By guarantee: {allowed}, {ends}; there are too few rows to check it."
    change = most_exposed(found.exposures, limit=found.limit)
    if change is None:
        return f"The attack measures no change of odds, {ends}."
    return _by_odds(found, change, ends)


def _by_odds(found: Judged, change: OddsChange, ends: str) -> str:
    low, high = fold(change.odds_interval.low), fold(change.odds_interval.high)
    told = f"{_suspicion(change, found.suspected(change))}: the odds change"
    if found.measured is State.ABOVE:
        return f"{told} at least {low}-fold, {ends}."
    if found.measured is State.BELOW:
        held = isinstance(found.guarantee, Guarantee)
        return f"{told} at most {high}-fold, {ends}{'' if held else _BARE}."
    reach = f"{low}-fold to {high}-fold" if change.odds_interval.high < math.inf else f"at least {low}-fold"
    return f"Too few rows to tell: {told[0].lower()}{told[1:].replace(': ', ', so ')} {reach}, {ends}."


_BARE = "; nothing is guaranteed, so a better attack may find more"


def _suspicion(change: OddsChange, suspected: str) -> str:
    after = f"{percent(change.suspicion)} ({span(change.suspicion_interval)})"
    person = f"flagged person {change.scope}".rstrip()
    return f"Suspicion of {suspected} goes from {percent(change.share)} to {after} for a {person}"
