"""What rules are expected to leak, computed before the competition opens: labels per query, submissions and days."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count
from tacit.privacy.words import counted
from tacit.scores.attacks import best_size, plan_attack
from tacit.scores.metrics import Metric
from tacit.server.coalition import answer_noise
from tacit.server.rules import Rules

__all__ = ["LeakForecast", "forecast"]

_MOST = 10**7
_ALL = 0.995


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakForecast:
    """The expected cost of the attack.

    Parameters
    ----------
    attack
        How labels are read: one by one from each score, from all scores together, or not at all.
    labels_per_query, submissions, days
        To full leakage; None if this attack does not get there.
    share_within_budget
        Labels expected to be right after one team's whole budget, the features' guess included; None if this
        attack says nothing.
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
    rules: Rules, metric: Metric, *, rows: int, doubt: NDArray[np.float64] | None = None, known: float | None = None
) -> LeakForecast:
    """Compute what a competition's rules are expected to leak.

    Exact and rounded scores are read by the plan of :mod:`tacit.scores.attacks`, which is certain: so many
    submissions, all labels. Noise, and rounding that hides single rows, are met by all answers together
    (:func:`tacit.scores.attacks.guess_labels`), for which the number is an expectation.

    Parameters
    ----------
    metric
        The plan's, for the classes of the labels.
    doubt
        For each row the chance of its second likeliest label by the features alone, at most 1/2; default: 1/2, as if
        nothing were known.
    known
        Share of labels that the features alone reveal, if it was measured; default: from ``doubt``.

    Examples
    --------
    >>> from tacit.scores.metrics import LogLoss
    >>> from tacit.scores.policies import Rounded
    >>> from tacit.server.rules import CompetitionPlan
    >>> plan = CompetitionPlan(policy=Rounded(decimals=5), epsilon=None, submissions=1000)
    >>> print(forecast(Rules(plan=plan, per_day=5, public_fraction=1.0, together=None), LogLoss(), rows=2201).sentence)
    176 submissions reveal all 2,201 labels, 12.5 per submission; at 5 per day that takes 36 days.
    """
    check_count(rows, name="rows")
    shown = rules.policy.shown_in_all(submissions=rules.plan.submissions)
    if shown is not None:
        return _silent(shown[0], f"Not by this attack: {shown[1]}")
    doubt = np.full(rows, 0.5) if doubt is None else doubt
    known = float(1 - doubt.mean()) if known is None else known
    planned = None if rules.is_split or rules.policy.error is None else _planned(rules, metric, rows, known=known)
    if planned is not None:
        return planned
    noise = answer_noise(metric, rules.policy, rows=_share(rows, rules.public_fraction))
    if noise is None:
        told = f"No attack on {metric.title} under this policy is known here"
        return _silent("none", f"{told}; that does not mean that none exists.")
    return _together(rules, metric, rows, doubt, noise, known=known)


def _planned(rules: Rules, metric: Metric, rows: int, *, known: float) -> LeakForecast | None:
    try:
        found = plan_attack(metric, rows=rows, policy=rules.policy, per_day=rules.per_day)
        queries = found.queries
    except InvalidInput:  # no attack is known, or rounding hides single rows
        return None
    share = min(1.0, rules.plan.submissions / queries)  # of the labels that the features do not reveal
    about = "About " if found.design.expected else ""
    reveal = f"{about}{queries:,} submission{'s reveal' if queries != 1 else ' reveals'}"
    sentence = f"{reveal} all {rows:,} labels, {found.labels_per_query:.1f} per submission"
    return LeakForecast(
        attack="one by one",
        labels_per_query=found.labels_per_query,
        submissions=queries,
        days=found.days,
        share_within_budget=known + (1 - known) * share,
        sentence=sentence + _when(rules, queries),
    )


def _together(
    rules: Rules, metric: Metric, rows: int, doubt: NDArray[np.float64], noise: float, *, known: float
) -> LeakForecast:
    order = np.sort(doubt)[::-1]
    public = rules.public_fraction

    def gain(queries: int) -> float:
        return public * best_size(order, queries=queries, noise=noise)[1] / rows

    queries = _least(lambda count: gain(count) >= public * (_ALL - 1 + doubt.mean()))
    budget = min(1.0, known + gain(rules.plan.submissions) + _final_gain(rules, metric, rows, order) / rows)
    gained = (
        f"One team's {rules.plan.submissions:,} submissions are expected to raise the labels guessed correctly from "
        f"{known:.1%} (features alone) to {budget:.1%}"
    ) + (", its final score included" if public < 1 else "")
    if queries is None:
        told = f"Not by this attack within {_MOST:,} submissions. {gained}."
    else:
        which = "nearly all labels" if public == 1 else f"nearly all labels behind the live scores ({public:.0%})"
        reveal = f"About {queries:,} submission{'s reveal' if queries != 1 else ' reveals'}"
        told = f"{reveal} {which}{_when(rules, queries)} {gained}."
    return LeakForecast(
        attack="all scores together",
        labels_per_query=None if queries is None else rows * public / queries,
        submissions=queries,
        days=None if queries is None else _days(rules, queries),
        share_within_budget=budget,
        sentence=told,
    )


def _final_gain(rules: Rules, metric: Metric, rows: int, order: NDArray[np.float64]) -> float:
    """Return how many more labels a team's one final score is expected to reveal."""
    private = 1 - rules.public_fraction
    if private <= 0:
        return 0.0
    noise = answer_noise(metric, rules.final_policy, rows=_share(rows, private))
    return 0.0 if noise is None else private * best_size(order, queries=1, noise=noise)[1]


def _share(rows: int, fraction: float) -> int:
    return max(1, round(rows * fraction))


def _silent(kind: str, sentence: str) -> LeakForecast:
    return LeakForecast(
        attack=kind, labels_per_query=None, submissions=None, days=None, share_within_budget=None, sentence=sentence
    )


def _days(rules: Rules, queries: int) -> int | None:
    return None if rules.per_day is None else math.ceil(queries / rules.per_day)


def _when(rules: Rules, queries: int) -> str:
    days = _days(rules, queries)
    at = "." if days is None else f"; at {rules.per_day:,} per day that takes {counted(days, 'day')}."
    most = rules.plan.submissions
    if queries > most:
        teams = math.ceil(queries / most)
        at += f" One team's budget ends at {most:,}: it takes {teams:,} teams that share their scores."
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
