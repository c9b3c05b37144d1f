"""The words of a finding and of its remedy, the same on every surface."""

from __future__ import annotations

import math

from tacit.audit.answer import Permission, ReleaseState
from tacit.audit.finding import Finding
from tacit.audit.words import WEAK, listed, percent
from tacit.leak import Leak
from tacit.privacy.plan import Plan
from tacit.privacy.words import counted

__all__ = ["advise", "tell_leak", "tell_rates"]


def tell_leak(leak: Leak, *, per_day: int | None = None) -> str:
    """Return what the attack measured, as the first half of a sentence.

    Parameters
    ----------
    per_day
        How many submissions a team may make per day: then the number of days is stated too.
    """
    rates = tell_rates(leak)
    if certain := leak.facts.get("determined", 0):
        rates = f"{counted(certain, 'label')} {'is' if certain == 1 else 'are'} determined for certain, and {rates}"
    if made := leak.facts.get("submissions"):
        days = f" ({counted(math.ceil(made / per_day), 'day')} at {per_day:,} per day)" if per_day else ""
        return f"After {counted(made, 'submission')}{days} {rates}"
    return rates


def tell_rates(leak: Leak) -> str:
    """Return how often the attack is correct, with the release and without it."""
    right = f"{percent(leak.rate)} of {leak.trials:,} {leak.rate_of}"
    return f"{right}, compared with {percent(leak.baseline)} {leak.baseline_of}"


def advise(finding: Finding, plan: Plan) -> str:
    """Return what to do, as the second half of that sentence."""
    epsilon, utility = finding.epsilon, finding.utility
    if finding.state is ReleaseState.VIOLATED:
        return "its guarantee is violated, so release nothing by this mechanism until the fault is found"
    if copies := finding.leak.facts.get("copies"):
        return f"release it without {listed([*copies])}, which copies the label"
    if epsilon is None:
        return plan.safer if finding.answer is Permission.NO else f"but nothing is guaranteed, so {plan.safer}"
    if utility.worthless and finding.answer is not Permission.NO:
        return (
            f"but {utility.measure} is {percent(utility.protected)}, and {percent(utility.blind)} takes no data, so "
            f"allow more than epsilon {epsilon:g}, {plan.more_useful}"
        )
    if epsilon > WEAK:
        return f"epsilon {epsilon:g} guarantees next to nothing, so lower it to 1 or so"
    if finding.answer is Permission.YES:
        return "release it, once"
    return _lower(finding, epsilon)


def _lower(finding: Finding, epsilon: float) -> str:
    """Return how a release comes below its limit."""
    if finding.shared_by:
        return (
            "name the column that says whose row it is (person), or lower epsilon: rows of the same value of "
            f"{finding.shared_by} reveal each other's labels"
        )
    if finding.follows_order or finding.doubt:
        return "release the rows in random order (shuffle = true): neighbors reveal each other's labels at any epsilon"
    most = math.log(finding.limit)
    more = "audit more rows, or " if finding.state is ReleaseState.UNKNOWN else ""
    if epsilon >= most:
        return f"{more}lower epsilon from {epsilon:g} to below {most:.2g}, so that the guarantee is below the limit"
    if more:
        return (
            "audit more rows, or lower delta to below 1 in ten times the rows, so that the guarantee is below the limit"
        )
    return f"epsilon {epsilon:g} allows less if rows are independent, so look for labels that follow each other"
