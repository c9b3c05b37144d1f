"""The total privacy cost of all planned releases, for one label."""

from __future__ import annotations

from collections.abc import Iterable

from tacit.audit.answer import for_one_label
from tacit.audit.finding import Finding
from tacit.audit.result import Total
from tacit.privacy.composition import compose
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import AnyGuarantee, Guarantee, NoGuarantee

__all__ = ["add_up"]


def add_up(findings: Iterable[Finding], *, delta: float) -> tuple[Total, ...]:
    """Return the composed guarantee for one label of each data set, as if all of its releases were made.

    A guarantee for a record covers its label, and one for several rows of a person covers each of them. A guarantee for
    a bag's total covers no label, because a label may move several totals. One release without a guarantee for a label
    leaves none for the whole. What the parts assume, the total assumes.

    Parameters
    ----------
    delta
        The delta of the total, if one of the guarantees has a delta. If their own deltas are no smaller, their sum is
        added to it.
    """
    by_data: dict[str, list[Finding]] = {}
    for finding in findings:
        by_data.setdefault(finding.data, []).append(finding)
    return tuple(_sum(data, made, delta) for data, made in by_data.items())


def _sum(data: str, findings: list[Finding], delta: float) -> Total:
    guarantees = [for_one_label(finding.guarantee) for finding in findings]
    parts = [guarantee for guarantee in guarantees if guarantee is not None]
    guarantee: AnyGuarantee | None = _compose(parts, delta) if parts else None
    bare = tuple(finding.setting for finding, held in zip(findings, guarantees, strict=True) if held is None)
    if guarantee is not None and not bare:
        return Total(data=data, guarantee=guarantee, releases=len(findings))
    costs = "" if guarantee is None else f"; the rest costs {guarantee}"
    none = NoGuarantee(reason=f"no guarantee for a label holds for {'; '.join(bare)}{costs}")
    return Total(data=data, guarantee=none, releases=len(findings), bare=bare, rest=guarantee)


def _compose(parts: list[Guarantee], delta: float) -> Guarantee:
    if not any(part.delta for part in parts):
        return compose(parts)
    try:
        return compose(parts, delta=delta)
    except InvalidInput:  # no epsilon at a delta below what the parts have
        return compose(parts, delta=delta + sum(part.delta for part in parts))
