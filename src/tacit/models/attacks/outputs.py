"""Membership from a network's outputs: arrays of them, or anything that can be asked about rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from tacit.leak import FixedThreshold, Leak, ThresholdRule, leak_from_scores
from tacit.models.attacks.margin import KnownMargin, check_outputs
from tacit.models.margin.coverage import MarginCoverage, judge_coverage
from tacit.models.margin.labels import check_points
from tacit.models.points import Floats, row_keys
from tacit.privacy.errors import InvalidInput

__all__ = ["MarginLeak", "attack_margin", "attack_outputs", "check_apart"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginLeak:
    """The result of membership at the margin for one network.

    ``margin`` is m, the least |Phi| of the training points. ``coverage`` says whether theory proves the attack for
    these points, measurements let expect it, or neither. A proof is about exact KKT points:
    :func:`tacit.models.margin.certificate.kkt` says how near the network is to one.
    """

    leak: Leak
    margin: float
    coverage: MarginCoverage


def attack_outputs(
    members: ArrayLike,
    nonmembers: ArrayLike,
    *,
    rule: KnownMargin,
    threshold: ThresholdRule | None = None,
    level: float = 0.95,
) -> Leak:
    """Measure how well a rule distinguishes training points from others by their outputs alone.

    No weights, labels or rows are needed (Remark 4.1). The intervals treat the points as independent draws; points of
    one network are not independent runs, so no epsilon is proved. Without ``threshold`` the rule's own is used, which
    looked at none of these outputs.

    References
    ----------
    Paper 004, Theorem 4.2, Corollaries 4.3 to 4.5, Remark 4.1.
    """
    inside = rule.score(check_outputs(members, name="members"))
    outside = rule.score(check_outputs(nonmembers, name="nonmembers"))
    cut = FixedThreshold(rule.threshold) if threshold is None else threshold
    return replace(leak_from_scores(inside, outside, threshold=cut, level=level), bound=None).of_this_release()


def attack_margin(
    model: Callable[[Floats], ArrayLike],
    members: ArrayLike,
    nonmembers: ArrayLike,
    *,
    rule: KnownMargin | None = None,
    labels: ArrayLike | None = None,
    level: float = 0.95,
) -> MarginLeak:
    """Ask a network about points it was trained on and others, and measure membership at its margin.

    Parameters
    ----------
    model
        Anything that maps rows to one output each: a :class:`tacit.models.network.TwoLayerReLU`, a remote service.
    rule
        What the attacker knows about the margin; by default the margin itself (Corollary 4.3), estimated from the
        member with the least output. That member is then not counted, or any network would seem to leak it.
    labels
        Of the members, any two values: they let :func:`tacit.models.margin.coverage.bound_outputs` prove more.

    References
    ----------
    Paper 004, Theorem 4.2, Corollaries 4.3 to 4.5.
    """
    inside, outside = check_apart(members, nonmembers)
    member_outputs = _ask(model, inside, "members")
    nonmember_outputs = _ask(model, outside, "nonmembers")
    margin = float(np.abs(member_outputs).min())
    if margin == 0:
        raise InvalidInput("must have outputs other than 0: the network has no margin on them", field="members")
    if rule is None:
        if len(inside) < 2:
            raise InvalidInput(
                "must be 2 rows or more, one to find the margin, got 1: give the margin or more rows", field="members"
            )
        rule = KnownMargin(margin=margin)
        member_outputs = np.delete(member_outputs, np.abs(member_outputs).argmin())
    return MarginLeak(
        leak=attack_outputs(member_outputs, nonmember_outputs, rule=rule, level=level),
        margin=margin,
        coverage=judge_coverage(inside, labels, fresh=outside),
    )


def check_apart(members: ArrayLike, nonmembers: ArrayLike) -> tuple[Floats, Floats]:
    """Return both as tables of finite numbers, or raise unless they have the same columns and share no row."""
    inside, outside = check_points(members, name="members"), check_points(nonmembers, name="nonmembers")
    if inside.shape[1] != outside.shape[1]:
        raise InvalidInput(
            f"members and nonmembers must have the same columns, got {inside.shape[1]} and {outside.shape[1]}"
        )
    shared = len({*row_keys(inside)} & {*row_keys(outside)})
    if shared:
        raise InvalidInput(f"members and nonmembers must not share rows, got {shared} in both: drop them from one")
    return inside, outside


def _ask(model: Callable[[Floats], ArrayLike], rows: Floats, name: str) -> Floats:
    outputs = check_outputs(model(rows), name=name)
    if len(outputs) != len(rows):
        raise InvalidInput(f"must give one output per row, got {len(outputs)} for {len(rows)} {name}", field="model")
    return outputs
