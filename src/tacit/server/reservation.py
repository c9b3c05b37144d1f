"""What is charged to the ledger before a score can exist: a team's whole budget at once, and the final ranking."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from tacit.privacy.composition import compose
from tacit.privacy.guarantee import AnyGuarantee, Guarantee
from tacit.privacy.rounding import exact, round_up
from tacit.scores.policies import Thresholdout
from tacit.scores.releases import Setting

__all__ = ["final_guarantee", "labels_budget", "scores_reserved", "team_guarantee"]

_PARTIAL = 1.001
"""Room for the rounding of one charge after the other, where a delta makes the ledger compose distributions."""


def scores_reserved(setting: Setting) -> int:
    """Return how many scores that cost something a team can get at most.

    Examples
    --------
    >>> from tacit.scores.metrics import Accuracy
    >>> from tacit.scores.releases import Budget
    >>> scores_reserved(Setting(metric=Accuracy(), policy=Thresholdout(refreshes=10), budget=Budget(per_team=100)))
    10
    """
    most = setting.budget.per_team
    return min(most, setting.policy.refreshes) if isinstance(setting.policy, Thresholdout) else most


def team_guarantee(setting: Setting, *, delta: float = 0.0) -> AnyGuarantee:
    """Return what all scores of one team guarantee together, or why nothing.

    Examples
    --------
    >>> from tacit.scores.metrics import Accuracy
    >>> from tacit.scores.policies import Laplace
    >>> print(team_guarantee(Setting(metric=Accuracy(), policy=Laplace(epsilon=0.01))))
    epsilon 1 for one label
    """
    return _times(setting.policy.guarantee(), scores_reserved(setting), delta=delta)


def final_guarantee(setting: Setting, *, teams: int, delta: float = 0.0) -> AnyGuarantee:
    """Return what the final ranking guarantees to a label of the private rows, or why nothing.

    Examples
    --------
    >>> from tacit.scores.metrics import Accuracy
    >>> from tacit.scores.policies import Laplace
    >>> print(final_guarantee(Setting(metric=Accuracy(), policy=Laplace(epsilon=0.01)), teams=20))
    epsilon 0.2 for one label
    """
    policy = setting.final_policy or setting.policy
    return _times(policy.guarantee(), teams, delta=delta)


def labels_budget(setting: Setting, *, teams: int, delta: float = 0.0, parted: bool = True) -> Guarantee | None:
    """Return what the labels may spend in all: as many teams as may join, and the final ranking; None: no guarantee.

    A label is either behind the leaderboard or behind the final ranking, so the larger of the two counts; both count
    where the ledger does not know the parts.

    Examples
    --------
    >>> from tacit.scores.metrics import Accuracy
    >>> from tacit.scores.policies import Laplace
    >>> print(labels_budget(Setting(metric=Accuracy(), policy=Laplace(epsilon=0.01)), teams=20))
    epsilon 20 for one label
    """
    policy = setting.final_policy or setting.policy
    counts = [(setting.policy.guarantee(), teams * scores_reserved(setting))]
    if setting.split.public_fraction < 1:
        counts.append((policy.guarantee(), teams))
    needs = [_sum(guarantee, count, delta=delta) for guarantee, count in counts if isinstance(guarantee, Guarantee)]
    if not parted and needs:
        return replace(needs[0], epsilon=round_up(sum((exact(need.epsilon) for need in needs), Fraction(0))), loss=None)
    return max(needs, key=lambda need: need.epsilon, default=None)


def _times(guarantee: AnyGuarantee, count: int, *, delta: float) -> AnyGuarantee:
    """Return one charge for ``count`` equal ones, with the loss of each where a delta makes use of it."""
    if not isinstance(guarantee, Guarantee):
        return guarantee
    if delta == 0:
        return _pure(guarantee, count)
    return compose([guarantee] * count)


def _sum(guarantee: Guarantee, count: int, *, delta: float) -> Guarantee:
    if delta == 0:
        return _pure(guarantee, count)
    whole = compose([guarantee] * count, delta=delta)
    return Guarantee(unit=guarantee.unit, epsilon=whole.epsilon * _PARTIAL, delta=delta)


def _pure(guarantee: Guarantee, count: int) -> Guarantee:
    epsilon = round_up(count * exact(guarantee.epsilon))
    return Guarantee(unit=guarantee.unit, epsilon=epsilon, rows=guarantee.rows, assumptions=guarantee.assumptions)
