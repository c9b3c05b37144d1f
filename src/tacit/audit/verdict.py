"""The whole run in two sentences: which release does the most harm, and what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from tacit.audit.answer import Permission
from tacit.audit.finding import Finding
from tacit.audit.joint import JointFinding
from tacit.audit.result import AuditResult
from tacit.audit.words import WEAK, listed, percent
from tacit.leak.stored_result import StoredResult
from tacit.privacy.guarantee import Guarantee

__all__ = ["Verdict", "judge", "names"]

_REST = {
    Permission.NO: "must not be handed out",
    Permission.UNKNOWN: "cannot be judged yet",
    Permission.YES: "may be handed out",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(StoredResult):
    """The summary for readers who stop here.

    Parameters
    ----------
    caution
        What was left out; empty if nothing was.
    """

    headline: str
    told: str
    action: str
    caution: str = ""


def judge(result: AuditResult) -> Verdict:
    """Return the verdict on a run."""
    caution, worst = _caution(result), result.worst
    if worst is None:
        return Verdict(headline="Nothing was audited.", told="", action="", caution=caution)
    if result.broken:
        return _violated(result.broken[0], caution)
    if isinstance(joint := result.most_harmful, JointFinding):
        return _not_all(result, joint, caution)
    if worst.answer is Permission.YES:
        return _all_may(result, worst, caution)
    refused = worst.answer is Permission.NO
    named = f"{worst.surface}: {worst.setting}"
    return Verdict(
        headline=f"Do not hand out {named}." if refused else f"Not known yet whether to hand out {named}.",
        told=worst.reason,
        action=" ".join(filter(None, (_action(result, worst), _others(result, worst), _idle(result)))),
        caution=caution,
    )


def _violated(finding: Finding, caution: str) -> Verdict:
    return Verdict(
        headline=f"A guarantee is violated: {finding.surface}, {finding.setting}.",
        told=finding.reason,
        action="Release nothing by this mechanism until the fault is found: it is in the mechanism or in the attack.",
        caution=caution,
    )


def _not_all(result: AuditResult, joint: JointFinding, caution: str) -> Verdict:
    refused = joint.answer is Permission.NO
    lower = "hand out fewer of them, or lower their epsilons"
    return Verdict(
        headline=f"Do not hand out {joint.name}." if refused else f"Not known yet whether to hand out {joint.name}.",
        told=_together(joint),
        action=" ".join(filter(None, (f"{lower[0].upper()}{lower[1:]}.", _idle(result)))),
        caution=caution,
    )


def _together(joint: JointFinding) -> str:
    return f"Together: {joint.reason[0].lower()}{joint.reason[1:]}"


def _action(result: AuditResult, finding: Finding) -> str:
    instead = result.alternative(finding) if finding.answer is Permission.NO else None
    if instead is None:
        return f"{finding.remedy[0].upper()}{finding.remedy[1:]}."
    use = instead.utility
    return (
        f"Instead, release {instead.setting}. {instead.reason} {use.measure[0].upper()}{use.measure[1:]}: "
        f"{percent(use.protected)}, compared with {percent(use.unprotected)} without protection."
    )


def _others(result: AuditResult, worst: Finding) -> str:
    rest = Counter(other.answer for other in result.findings if other is not worst)
    parts = [f"{_count(rest[answer])} {words}" for answer, words in _REST.items() if rest[answer]]
    joint = result.worse_together
    but = "" if joint is None else f" But {joint.name}: {joint.answer}."
    return f"Of the other planned releases, {listed(parts)}.{but}" if parts else ""


def _count(number: int) -> str:
    return "one" if number == 1 else f"{number}"


def _all_may(result: AuditResult, worst: Finding, caution: str) -> Verdict:
    return Verdict(
        headline=_permission(result),
        told=" ".join([worst.reason, *(_together(joint) for joint in result.together)]),
        action=" ".join(filter(None, (_idle(result), _unguaranteed(result), _weak(result), _spent(result)))),
        caution=caution,
    )


def _permission(result: AuditResult) -> str:
    every, idle = len(result.findings), sum(finding.utility.worthless for finding in result.findings)
    if result.missing:
        return f"So far {every} of {result.planned} planned releases may be handed out; the rest was not audited."
    if every == 1:
        return f"The planned release {'is below the limit, but has no utility' if idle else 'may be handed out'}."
    if not idle:
        return f"All {every} planned releases may be handed out."
    return f"All {every} planned releases are below the limit, but {idle} {'have' if idle > 1 else 'has'} no utility."


def _unguaranteed(result: AuditResult) -> str:
    bare = [finding.setting for finding in result.findings if not isinstance(finding.guarantee, Guarantee)]
    return f"Nothing is guaranteed for {names(bare)}: a better attack may succeed, so add noise." if bare else ""


def _weak(result: AuditResult) -> str:
    weak = [finding.setting for finding in result.findings if (finding.epsilon or 0.0) > WEAK]
    return f"Hardly anything is guaranteed for {names(weak)}: lower epsilon." if weak else ""


def _idle(result: AuditResult) -> str:
    idle = [finding for finding in result.findings if finding.utility.worthless]
    if not idle:
        return ""
    refused = any(finding.answer is Permission.NO for finding in idle)
    way = "do not release it" if refused else "allow a larger epsilon, or do not release it"
    return f"Nothing can be learned from {names(finding.setting for finding in idle)}: {way}."


def _spent(result: AuditResult) -> str:
    if all(finding.utility.worthless for finding in result.findings):
        return ""
    whole = [total for total in result.totals if isinstance(total.guarantee, Guarantee)]
    if len(whole) != 1 or len(result.totals) != 1:
        return ""
    if whole[0].releases == 1:
        return f"Make it at most once: the total privacy cost is {whole[0].guarantee}."
    return f"Make each at most once: the total privacy cost of all {whole[0].releases} is {whole[0].guarantee}."


def _caution(result: AuditResult) -> str:
    if not result.skipped and not result.missing:
        return ""
    reasons = listed(list(dict.fromkeys(f"{part.surface} ({part.reason})" for part in result.skipped)))
    if not result.missing:
        return f"Partial: left out {reasons}."
    return (
        f"Partial: {len(result.findings)} of {result.planned} planned releases were audited, and what was left out may "
        f"leak more: {reasons}."
    )


def names(settings: Iterable[str], *, most: int = 3) -> str:
    """Return the names of releases, at most ``most`` of them.

    Examples
    --------
    >>> names(["a", "b", "c", "d"], most=2)
    'a; b; and 2 more'
    """
    every = list(settings)
    more = [f"and {len(every) - most} more"] if len(every) > most else []
    return "; ".join([*every[:most], *more])
