"""The words of a finding and of its remedy, the same on every surface."""

from __future__ import annotations

import math

from tacit.audit.plan import Step
from tacit.audit.utility import Utility
from tacit.audit.words import WEAK, percent
from tacit.leak import Leak

__all__ = ["advise", "tell_leak", "tell_rates"]

_STRONG = 3.0  # above it the odds on a label may change twenty-fold
_ADD_NOISE = {
    "labels": "randomize them, at epsilon 1 for one label",
    "bags": "add noise, such as epsilon 1 for one label, and release larger bags",
    "features": "release class totals with noise, or noisy rows, instead",
    "scores": "answer with Laplace noise, at epsilon 1 for all submissions together",
    "models": "train with DP-SGD, such as epsilon 3 for one record, or serve predictions instead of weights",
}
_MORE_USE = {
    "labels": "or release totals of groups",
    "bags": "or form larger bags",
    "features": "or release class totals, of more rows per class",
    "scores": "or answer fewer submissions",
    "models": "or train on more rows",
}


def tell_leak(leak: Leak, *, per_day: int | None = None) -> str:
    """Return what the attack measured, as the first half of a sentence.

    Parameters
    ----------
    per_day
        How many submissions a team may make per day: then the number of days is stated too.
    """
    rates = tell_rates(leak)
    if certain := leak.facts.get("determined", 0):
        return f"{_count(certain, 'label')} {'is' if certain == 1 else 'are'} determined for certain, and {rates}"
    if made := leak.facts.get("submissions"):
        days = f" ({_count(math.ceil(made / per_day), 'day')} at {per_day:,} per day)" if per_day else ""
        return f"After {_count(made, 'submission')}{days} {rates}"
    return rates


def tell_rates(leak: Leak) -> str:
    """Return how often the attack is correct, with the release and without it."""
    right = f"{percent(leak.rate)} of {leak.trials:,} {leak.rate_of}"
    return f"{right}, compared with {percent(leak.baseline)} {leak.baseline_of}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def advise(step: Step, leak: Leak, utility: Utility) -> str:
    """Return what to do, as the second half of that sentence."""
    epsilon, leaks = step.plan.epsilon, leak.facts.get("determined", 0) > 0 or leak.advantage_interval.low > 0
    if epsilon is None:
        noise = _ADD_NOISE[step.surface]
        return noise if leaks else f"that is not statistically significant, but nothing is guaranteed, so {noise}"
    if utility.worthless or (step.surface == "scores" and utility.interval.low <= utility.blind):
        return (
            f"but {utility.measure} is {percent(utility.protected)}, and {percent(utility.blind)} takes no data, so "
            f"allow more than epsilon {epsilon:g}, {_MORE_USE[step.surface]}"
        )
    if epsilon > (_STRONG if leaks else WEAK):
        return f"epsilon {epsilon:g} guarantees next to nothing, so lower it to 1 or so"
    if leaks:
        return f"epsilon {epsilon:g} allows that, so release it once, or at a smaller epsilon if it is too much"
    return "that is not statistically significant, so release it, once"
