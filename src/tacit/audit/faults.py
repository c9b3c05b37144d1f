"""Why a run fails: violated guarantees, and what is not shown to be below a limit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from tacit.audit.answer import Permission, ReleaseState, RunLimits, for_one_label
from tacit.audit.checked_guarantee import explain
from tacit.audit.finding import Finding
from tacit.audit.result import AuditResult
from tacit.audit.words import points, proved
from tacit.leak import LeakVerdict
from tacit.privacy.guarantee import Guarantee

__all__ = ["faults"]


def faults(result: AuditResult, limits: RunLimits) -> tuple[str, ...]:
    """Return why a run fails: violated guarantees, and what is not shown to be below a limit, one sentence each."""
    return (
        *(
            f"{finding.surface}, {finding.setting}: epsilon is {proved(finding.leak.epsilon_lower_bound)}, "
            f"and {finding.guarantee} was guaranteed"
            for finding in result.broken
        ),
        *(fault for finding in result.findings if not finding.broken for fault in _of_release(finding, limits)),
        *_of_joints(result, limits.odds),
        *_of_totals(result, limits.epsilon),
        *([f"{result.ledger}"] if result.ledger is not None and result.ledger.exceeded else []),
    )


def _of_release(finding: Finding, limits: RunLimits) -> Iterator[str]:
    name = f"{finding.surface}, {finding.setting}"
    if limits.odds is not None:
        judged = replace(finding, limit=limits.odds)
        if judged.answer is not Permission.YES:
            yield f"{name}: {judged.reason[0].lower()}{judged.reason[1:].removesuffix('.')}"
    if limits.advantage is not None and (fault := _advantage_fault(finding, limits.advantage)):
        yield f"{name}: {fault}"


def _of_joints(result: AuditResult, limit: float | None) -> Iterator[str]:
    """Name releases that fail together, unless one of them fails by itself and is named already."""
    if limit is None:
        return
    named = {found.name for found in result.findings if replace(found, limit=limit).answer is not Permission.YES}
    for joint in result.together:
        judged = replace(joint, limit=limit)
        if named.isdisjoint(joint.releases) and judged.measured.answer is not Permission.YES:
            reason = explain(judged)
            yield f"{joint.name}: {reason[0].lower()}{reason[1:].removesuffix('.')}"


def _advantage_fault(finding: Finding, limit: float) -> str:
    if finding.state is ReleaseState.DETERMINED:
        return finding.reason.removesuffix(".")
    spans = [(change.advantage, change.advantage_interval) for change in finding.leak.changes]
    value, span = max(
        spans or [(finding.leak.advantage, finding.leak.advantage_interval)],
        key=lambda found: (found[1].low >= limit, found[1].high),
    )
    if span.high < limit or (span.low < limit and _guaranteed_advantage(finding) < limit):
        return ""
    verdict = LeakVerdict.ABOVE if span.low >= limit else LeakVerdict.UNKNOWN
    reach = f"{points(span.low).removesuffix(' points')} to {points(span.high)}"
    return f"advantage {points(value)} ({reach}), {verdict}: the limit is {points(limit)}"


def _guaranteed_advantage(finding: Finding) -> float:
    """Return (e^epsilon - 1 + 2 delta)/(e^epsilon + 1), the most that T <= e^epsilon F + delta allows T - F to be."""
    held = for_one_label(finding.guarantee)
    if held is None:
        return 1.0
    return math.tanh(held.epsilon / 2) + 2 * held.delta / (1 + math.exp(min(held.epsilon, 700.0)))


def _of_totals(result: AuditResult, limit: float | None) -> Iterator[str]:
    for total in result.totals:
        if limit is None:
            return
        if not isinstance(total.guarantee, Guarantee):
            yield f"{total.data}: {total.guarantee}, the limit is epsilon {limit:g}"
        elif total.guarantee.epsilon > limit:
            yield f"{total.data}: the total privacy cost is {total.guarantee}, the limit is epsilon {limit:g}"
