"""What a host should know before a competition opens: noise that hides differences, labels without protection."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tacit.privacy.guarantee import Guarantee
from tacit.scores.metrics import Accuracy, Brier, Metric
from tacit.scores.policies import Policy
from tacit.server.rules import Rules

__all__ = ["cautions"]

_SURE = math.log(20)  # 95% of Laplace noise is within so many of its scales
_WIDEST = 0.25  # of what a submission can gain over a guess without features


def cautions(rules: Rules, metric: Metric, *, rows: int, answers: int | None) -> tuple[str, ...]:
    """Return one sentence for each thing that a host should know, computed from public numbers.

    Examples
    --------
    >>> from tacit.scores.metrics import LogLoss
    >>> from tacit.server.rules import CompetitionPlan
    >>> rules = Rules(plan=CompetitionPlan(policy="laplace", epsilon=20), together=None)
    >>> for sentence in cautions(rules, LogLoss(), rows=120, answers=None):
    ...     print(sentence)
    Noise hides the differences between live scores: 95% are within 1.9 of the exact ones, but the best possible \
submission is only 0.68 better than a blind guess. To avoid this, use epsilon 224 for each team or 1,344 rows.
    """
    live = max(1, round(rows * rules.public_fraction))
    found = [_hidden(rules, metric, rules.policy, rows=live, share=rules.public_fraction, final=False)]
    if rules.is_split:
        private, share = max(1, rows - live), 1 - rules.public_fraction
        found.append(_hidden(rules, metric, rules.final_policy, rows=private, share=share, final=True))
    if answers == 0:
        found.append(
            f"There are no live scores: {rules.teams} teams together would learn too much from {live:,} rows. For live "
            "scores, use fewer teams, more rows, or live spent, which reveals the labels behind them."
        )
    if rules.live == "spent":
        found.append(
            "The labels behind the live scores are revealed: a team that submits often enough recovers all of them."
        )
    if rules.together is None and not isinstance(rules.policy.guarantee(), Guarantee):
        found.append(
            "Nothing limits what live scores reveal: there is neither noise nor a limit for all teams together."
        )
    return tuple(filter(None, found))


def _hidden(rules: Rules, metric: Metric, policy: Policy, *, rows: int, share: float, final: bool) -> str:
    """Return that noise swamps what can be gained, and which epsilon, rows or metric would do; else nothing."""
    factor = _swamped(metric, policy, rows=rows)
    epsilon = rules.final_epsilon if final else rules.plan.epsilon
    if factor is None or factor <= 1 or epsilon is None:
        return ""
    ways = [f"epsilon {math.ceil(epsilon * factor):,}{'' if final else ' for each team'}"]
    others = [Accuracy(classes=metric.classes), Brier(classes=metric.classes)] if metric.classes else []
    better = [one.title for one in others if (_swamped(one, policy, rows=rows) or 0) <= 1]
    ways += [f"{math.ceil(rows * factor / share):,} rows", *better[:1]]
    reach, worth = _reach(metric, policy, rows=rows), _worth(metric)
    return (
        f"Noise hides the differences between {'final' if final else 'live'} scores: 95% are within {reach:.2g} of "
        f"the exact ones, but the best possible submission is only {worth:.2g} better than a blind guess. To avoid "
        f"this, use {', '.join(ways[:-1])} or {ways[-1]}."
    )


def _swamped(metric: Metric, policy: Policy, *, rows: int) -> float | None:
    """Return how many times too large the noise is; None where there is none or nothing is known."""
    if metric.sensitivity(rows) is None or not isinstance(policy.guarantee(), Guarantee):
        return None
    return _reach(metric, policy, rows=rows) / (_WIDEST * _worth(metric))


def _reach(metric: Metric, policy: Policy, *, rows: int) -> float:
    """Return within which distance 95% of the answers are, in units of the mean of the terms."""
    middle = policy.interval(metric.finish(sum(metric.term_bounds) / 2), metric=metric, rows=rows, changed=False)
    return (middle.high - middle.low) / 2 + _SURE * middle.scale


def _worth(metric: Metric) -> float:
    """Return by how much the best possible submission is better than one that knows nothing."""
    low, high = metric.term_bounds
    if not metric.additive:
        return (high - low) / 2
    labels = np.arange(metric.classes) if metric.classes else np.array(metric.label_range)
    guess: Any = np.full(len(labels), 0.0 if metric.reads_classes else labels.mean())
    if metric.columns > 1:
        guess = np.full((len(labels), metric.columns), 1 / metric.columns)
    mean = float(metric.measure(labels, guess).terms.mean())
    return mean - low if metric.lower_is_better else high - mean
