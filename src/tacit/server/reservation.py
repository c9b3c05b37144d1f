"""Charges before a score can exist: a team's whole budget at once, and the final ranking."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from tacit.privacy.composition import compose
from tacit.privacy.guarantee import AnyGuarantee, Guarantee
from tacit.privacy.ledger.account import least_budget
from tacit.privacy.rounding import exact, round_up
from tacit.server.rules import Rules

__all__ = ["final_guarantee", "labels_budget", "scores_reserved", "team_guarantee"]


def scores_reserved(rules: Rules) -> int:
    """Return how many scores that are charged a team can get at most."""
    return rules.policy.scores_charged(rules.plan.submissions)


def team_guarantee(rules: Rules, *, teams: int = 1, delta: float = 0.0) -> AnyGuarantee:
    """Return what all scores of so many teams guarantee together, or why nothing."""
    return _times(rules.policy.guarantee(), teams * scores_reserved(rules), delta=delta)


def final_guarantee(rules: Rules, *, scores: int = 1, delta: float = 0.0) -> AnyGuarantee:
    """Return what final scores guarantee for a label of the private rows, or why nothing."""
    return _times(rules.final_policy.guarantee(), scores, delta=delta)


def labels_budget(rules: Rules, *, delta: float = 0.0, parted: bool = True) -> Guarantee | None:
    """Return what the labels may spend in all: as many teams as may join, and the final ranking; None: no guarantee.

    A label is either behind the leaderboard or behind the final ranking, so the larger of the two counts; both count
    where the ledger does not know the parts.

    Examples
    --------
    >>> from tacit.server.rules import CompetitionPlan
    >>> plan = CompetitionPlan(policy="laplace", epsilon=20, submissions=100)
    >>> rules = Rules(plan=plan, final_epsilon=5, teams=2, together=None)
    >>> print(labels_budget(rules))
    epsilon 40 for one label
    >>> print(labels_budget(rules, parted=False))
    epsilon 50 for one label
    """
    live = rules.policy.guarantee()
    counts: list[tuple[AnyGuarantee, int]] = [(live, rules.teams * scores_reserved(rules))]
    if isinstance(live, Guarantee) and delta == 0:  # each team's charge is rounded up by itself
        counts = [(_pure(live, scores_reserved(rules)), rules.teams)]
    if rules.is_split:
        counts.append((final_guarantee(rules), rules.teams))
    needs = [_sum(kept, count, delta=delta) for kept, count in counts if isinstance(kept, Guarantee)]
    if not parted and needs:
        return replace(needs[0], epsilon=round_up(sum((exact(need.epsilon) for need in needs), Fraction(0))), loss=None)
    return max(needs, key=lambda need: need.epsilon, default=None)


def _times(one: AnyGuarantee, count: int, *, delta: float) -> AnyGuarantee:
    """Return one charge for ``count`` equal ones, with the loss of each where a delta makes use of it."""
    if not isinstance(one, Guarantee):
        return one
    return _pure(one, count) if delta == 0 else compose([one] * count)


def _sum(one: Guarantee, count: int, *, delta: float) -> Guarantee:
    return _pure(one, count) if delta == 0 else least_budget(one, charges=count, delta=delta)


def _pure(one: Guarantee, count: int) -> Guarantee:
    return replace(one, epsilon=round_up(count * exact(one.epsilon)), loss=None)
