"""Why a release may be handed out or not, in one sentence."""

from __future__ import annotations

from tacit.audit.answer import State
from tacit.audit.words import fold, in_odds, percent, span
from tacit.leak import OddsChange
from tacit.privacy.guarantee import AnyGuarantee, Guarantee

__all__ = ["reason_by_odds"]


def reason_by_odds(
    state: State, change: OddsChange | None, *, suspected: str, guarantee: AnyGuarantee, limit: float
) -> str:
    """Compare the change of odds of the class that decides with its limit.

    Parameters
    ----------
    change
        The class that decides; None if the attack measures none.
    suspected
        What a flagged person is suspected of.
    """
    ends = f"and the limit is {limit:g}-fold"
    if state is State.GUARANTEED:
        allowed = f"{guarantee} allows the odds to change {in_odds(guarantee)}"
        return f"By guarantee: {allowed}, {ends}; there are too few rows to check it."
    if change is None:
        return f"The attack measures no change of odds, {ends}."
    low, high = fold(change.odds_interval.low), fold(change.odds_interval.high)
    told = f"{_suspicion(change, suspected)}: the odds change"
    if state is State.ABOVE:
        return f"{told} at least {low}-fold, {ends}."
    if state is State.BELOW:
        bare = "" if isinstance(guarantee, Guarantee) else "; nothing is guaranteed, so a better attack may find more"
        return f"{told} at most {high}-fold, {ends}{bare}."
    return (
        f"Too few rows to tell: {told[0].lower()}{told[1:].replace(': ', ', so ')} {low}-fold to {high}-fold, {ends}."
    )


def _suspicion(change: OddsChange, suspected: str) -> str:
    after = f"{percent(change.suspicion)} ({span(change.suspicion_interval)})"
    return f"Suspicion of {suspected} goes from {percent(change.share)} to {after} for a flagged person"
