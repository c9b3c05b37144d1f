"""The total privacy cost of all planned releases, for one label."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tacit.audit.answer import for_one_label
from tacit.audit.finding import Finding
from tacit.leak.stored_result import StoredResult
from tacit.privacy.composition import compose
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import AnyGuarantee, Guarantee, NoGuarantee

__all__ = ["ReleaseCost", "TotalCost", "add_up", "compose_for_label"]


@dataclass(frozen=True, slots=True)
class ReleaseCost(StoredResult):
    """The epsilon of one release for one label; None if it guarantees nothing for a label."""

    release: str
    epsilon: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalCost(StoredResult):
    """The total privacy cost of all planned releases of one data set, for one label.

    Parameters
    ----------
    guarantee
        The composed guarantee; none if one of the releases has none.
    parts
        Every release with its own epsilon.
    rest
        The total cost of those with a guarantee, if there are others.
    budget
        The largest total epsilon that the plan allows; None: any.
    """

    data: str
    guarantee: AnyGuarantee
    parts: tuple[ReleaseCost, ...]
    rest: AnyGuarantee | None = None
    budget: float | None = None

    @property
    def releases(self) -> int:
        """How many releases there are."""
        return len(self.parts)

    @property
    def bare(self) -> tuple[str, ...]:
        """The releases without a guarantee for a label."""
        return tuple(part.release for part in self.parts if part.epsilon is None)

    @property
    def spent(self) -> float:
        """The total epsilon of the releases that guarantee something for a label."""
        held = self.rest or self.guarantee
        return held.epsilon if isinstance(held, Guarantee) else 0.0

    def __str__(self) -> str:
        made = f"All {self.releases} releases" if self.releases != 1 else "The one release"
        of = "" if self.budget is None else f", of a budget of {self.budget:g}"
        return f"{made} of {self.data}: {self.guarantee}{of}"


def add_up(findings: Iterable[Finding], *, delta: float, budget: float | None = None) -> tuple[TotalCost, ...]:
    """Return the composed guarantee for one label of each data set, as if all of its releases were made.

    A guarantee for a record covers its label, and one for several rows of a person covers each of them. A guarantee for
    a bag's total covers no label, because a label may move several totals. One release without a guarantee for a label
    leaves none for the whole. What the parts assume, the total assumes.

    Parameters
    ----------
    delta
        The delta of the total, if one of the guarantees has a delta. If their own deltas are no smaller, their sum is
        added to it.
    budget
        The limit on the total epsilon.
    """
    by_data: dict[str, list[Finding]] = {}
    for finding in findings:
        by_data.setdefault(finding.data, []).append(finding)
    return tuple(_sum(data, made, delta, budget) for data, made in by_data.items())


def _sum(data: str, findings: list[Finding], delta: float, budget: float | None) -> TotalCost:
    guarantees = [for_one_label(finding.guarantee) for finding in findings]
    parts = tuple(
        ReleaseCost(finding.name, None if held is None else held.epsilon)
        for finding, held in zip(findings, guarantees, strict=True)
    )
    rest = compose_for_label([held for held in guarantees if held is not None], delta=delta)
    bare = [finding.setting for finding, held in zip(findings, guarantees, strict=True) if held is None]
    if not bare:
        return TotalCost(data=data, guarantee=rest, parts=parts, budget=budget)
    held = isinstance(rest, Guarantee)
    costs = f"; the rest costs {rest}" if held else ""
    none = NoGuarantee(reason=f"no guarantee for a label holds for {'; '.join(bare)}{costs}")
    return TotalCost(data=data, guarantee=none, parts=parts, rest=rest if held else None, budget=budget)


def compose_for_label(guarantees: Iterable[AnyGuarantee], *, delta: float) -> AnyGuarantee:
    """Return what several releases guarantee together for one label; nothing if one of them guarantees nothing."""
    parts = [for_one_label(guarantee) for guarantee in guarantees]
    held = [part for part in parts if part is not None]
    if not held or len(held) < len(parts):
        return NoGuarantee(reason="one of the releases guarantees nothing for a label")
    if not any(part.delta for part in held):
        return compose(held)
    try:
        return compose(held, delta=delta)
    except InvalidInput:  # no epsilon at a delta below what the parts have
        return compose(held, delta=delta + sum(part.delta for part in held))
