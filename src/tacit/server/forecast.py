"""What a setting will give away, worked out before the competition opens: labels a query, submissions and days."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count, format_up
from tacit.scores.attacks import best_size, plan_attack
from tacit.scores.metrics import Metric
from tacit.scores.policies import Ladder, Laplace, Policy, Thresholdout
from tacit.scores.releases import Setting

__all__ = ["Forecast", "forecast"]

_MOST = 10**7
_ALL = 0.995


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What the attack is expected to take.

    Parameters
    ----------
    attack
        How labels are read: one by one from each score, from all scores together, or not at all.
    labels_per_query, submissions, days
        To full leakage; None where this attack does not get there.
    share_within_budget
        Labels expected to be right after one team's whole budget, the features' guess included; None where this
        attack says nothing.
    sentence
        All of it in plain words.

    Examples
    --------
    >>> from tacit.scores.metrics import Accuracy
    >>> from tacit.scores.policies import Exact
    >>> told = forecast(Setting(metric=Accuracy(), policy=Exact()), rows=2201)
    >>> told.submissions, told.days
    (499, 50)
    """

    attack: str
    labels_per_query: float | None
    submissions: int | None
    days: int | None
    share_within_budget: float | None
    sentence: str

    def to_json(self) -> dict[str, Any]:
        """Return the forecast as plain JSON."""
        return asdict(self)


def forecast(
    setting: Setting, *, rows: int, doubt: NDArray[np.float64] | None = None, known: float | None = None
) -> Forecast:
    """Work out what a competition's rules let through.

    Exact and rounded scores are read by the plan of :mod:`tacit.scores.attacks`, which is a guarantee: so many
    submissions, all labels. Noise, and rounding that hides single rows, are met by all answers together
    (:func:`tacit.scores.attacks.guess_labels`), for which the number is an expectation.

    Parameters
    ----------
    setting
        Metric, policy, budget and split.
    rows
        Rows of a submission.
    doubt
        For each row the chance of its second likeliest label by the features alone, at most 1/2; default: 1/2, as if
        nothing were known.
    known
        Share of labels that the features alone tell, where it was measured; default: what ``doubt`` says.

    Examples
    --------
    >>> from tacit.scores.metrics import LogLoss
    >>> from tacit.scores.policies import Rounded
    >>> from tacit.scores.releases import Budget
    >>> rules = Setting(metric=LogLoss(), policy=Rounded(decimals=5), budget=Budget(per_team=1000, per_day=5))
    >>> print(forecast(rules, rows=2201).sentence)
    176 submissions tell all 2,201 labels, 12.5 a submission; at 5 a day that takes 36 days.
    """
    check_count(rows, name="rows")
    if isinstance(setting.policy, Ladder):
        return _ladder(setting)
    if isinstance(setting.policy, Thresholdout):
        return _thresholdout(setting)
    doubt = np.full(rows, 0.5) if doubt is None else doubt
    known = float(1 - doubt.mean()) if known is None else known
    whole = setting.split.public_fraction == 1
    if setting.policy.error is not None and whole:
        planned = _planned(setting, rows, known=known)
        if planned is not None:
            return planned
    noise = _noise(setting.metric, setting.policy, rows=_share(rows, setting.split.public_fraction))
    if noise is None:
        return _unknown(setting)
    return _together(setting, rows, doubt, noise, known=known)


def _planned(setting: Setting, rows: int, *, known: float) -> Forecast | None:
    try:
        found = plan_attack(setting.metric, rows=rows, policy=setting.policy, limit_per_day=setting.budget.per_day)
        queries = found.queries
    except InvalidInput:  # no attack is known, or rounding hides single rows
        return None
    share = min(1.0, setting.budget.per_team / queries)  # of the labels that the features do not tell
    about = "About " if found.design.expected else ""
    sentence = f"{about}{queries:,} submissions tell all {rows:,} labels, {found.labels_per_query:.1f} a submission"
    return Forecast(
        attack="one by one",
        labels_per_query=found.labels_per_query,
        submissions=queries,
        days=found.days,
        share_within_budget=known + (1 - known) * share,
        sentence=sentence + _when(setting, queries),
    )


def _together(setting: Setting, rows: int, doubt: NDArray[np.float64], noise: float, *, known: float) -> Forecast:
    order = np.sort(doubt)[::-1]
    public = setting.split.public_fraction

    def gain(queries: int) -> float:
        return public * best_size(order, queries=queries, noise=noise)[1] / rows

    queries = _least(lambda count: gain(count) >= public * (_ALL - 1 + doubt.mean()))
    budget = min(1.0, known + gain(setting.budget.per_team) + _final_gain(setting, rows, order) / rows)
    gained = (
        f"One team's {setting.budget.per_team:,} submissions are expected to raise the labels guessed right from "
        f"{known:.1%} (features alone) to {budget:.1%}"
    ) + (", its final score included" if public < 1 else "")
    if queries is None:
        told = f"Not by this attack within {_MOST:,} submissions. {gained}."
    else:
        which = "nearly all labels" if public == 1 else f"nearly all labels behind the live scores ({public:.0%})"
        told = f"About {queries:,} submissions tell {which}{_when(setting, queries)} {gained}."
    return Forecast(
        attack="all scores together",
        labels_per_query=None if queries is None else rows * public / queries,
        submissions=queries,
        days=None if queries is None else _days(setting, queries),
        share_within_budget=budget,
        sentence=told,
    )


def _final_gain(setting: Setting, rows: int, order: NDArray[np.float64]) -> float:
    """Return how many more labels a team's one final score is expected to tell."""
    private = 1 - setting.split.public_fraction
    if private <= 0:
        return 0.0
    noise = _noise(setting.metric, setting.final_policy or setting.policy, rows=_share(rows, private))
    return 0.0 if noise is None else private * best_size(order, queries=1, noise=noise)[1]


def _share(rows: int, fraction: float) -> int:
    return max(1, round(rows * fraction))


def _noise(metric: Metric, policy: Policy, *, rows: int) -> float | None:
    """Return the variance of an answer in units of what one label moves; None where that is not known."""
    moved = metric.sensitivity(rows)
    if metric.reveals is None or moved is None or (metric.classes > 2 and not metric.additive):
        return None
    if isinstance(policy, Laplace):
        return 2 * (policy.scale(metric, rows=rows) / moved) ** 2
    return (2 * policy.error / moved) ** 2 / 12 if policy.error else 1e-6


def _ladder(setting: Setting) -> Forecast:
    assert isinstance(setting.policy, Ladder)
    bits = setting.policy.bits(submissions=setting.budget.per_team)
    told = (
        f"Not by this attack: the Ladder shows improvements alone, and one team's {setting.budget.per_team:,} "
        f"submissions say at most {bits:,.0f} bits together. That bound is no guarantee to a label, and a new team "
        "starts anew."
    )
    return _silent("improvements alone", told)


def _thresholdout(setting: Setting) -> Forecast:
    policy = setting.policy
    assert isinstance(policy, Thresholdout)
    told = (
        f"Not by this attack: a team gets {policy.refreshes} scores that change, with epsilon "
        f"{format_up(policy.epsilon)} each, and no more scores afterwards."
    )
    return _silent("changes alone", told)


def _unknown(setting: Setting) -> Forecast:
    return _silent(
        "none",
        f"No attack on {setting.metric.title} under this policy is known here; that is no guarantee that none exists.",
    )


def _silent(kind: str, sentence: str) -> Forecast:
    return Forecast(
        attack=kind, labels_per_query=None, submissions=None, days=None, share_within_budget=None, sentence=sentence
    )


def _days(setting: Setting, queries: int) -> int | None:
    return None if setting.budget.per_day is None else math.ceil(queries / setting.budget.per_day)


def _when(setting: Setting, queries: int) -> str:
    days = _days(setting, queries)
    at = "." if days is None else f"; at {setting.budget.per_day:,} a day that takes {days:,} days."
    if queries > setting.budget.per_team:
        teams = math.ceil(queries / setting.budget.per_team)
        at += (
            f" One team's budget ends at {setting.budget.per_team:,}: it takes {teams:,} teams that share their scores."
        )
    return at


def _least(enough: Any) -> int | None:  # noqa: ANN401
    """Return the least number up to the limit that is enough, within one percent."""
    high = 1
    while not enough(high):
        high *= 2
        if high > _MOST:
            return None
    low = high // 2
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
