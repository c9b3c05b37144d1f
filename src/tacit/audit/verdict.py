"""The whole run in two sentences: which release leaks most, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from tacit.audit.finding import Finding, State
from tacit.audit.result import AuditResult
from tacit.audit.words import listed, percent, points
from tacit.privacy.guarantee import Guarantee

__all__ = ["Verdict", "judge", "names"]

_WIDE = 0.1
_HIGH = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What someone must know who reads nothing else.

    Parameters
    ----------
    headline
        Which release leaks most.
    told
        What it tells, measured.
    action
        What to do.
    caution
        What was left out; empty where nothing was.

    Examples
    --------
    >>> judge(AuditResult(findings=(), version="0", date="2026-01-01", seed=0)).headline
    'Nothing was audited.'
    """

    headline: str
    told: str
    action: str
    caution: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON.

        Examples
        --------
        >>> Verdict(headline="None leaks.", told="", action="Go on.").to_json()["action"]
        'Go on.'
        """
        return asdict(self)


def judge(result: AuditResult) -> Verdict:
    """Return the verdict on a run.

    Parameters
    ----------
    result
        What was found.

    Examples
    --------
    >>> from tacit.audit import bundled_plan, run_audit
    >>> print(judge(run_audit(bundled_plan().only(["scores"]), seed=0)).headline)
    Scores leak most: log loss to 5 decimals, 400 submissions.
    """
    caution, worst = _caution(result), result.worst
    if worst is None:
        return Verdict(headline="Nothing was audited.", told="", action="", caution=caution)
    if result.broken:
        return _refuted(result.broken[0], caution)
    if worst.leaks:
        many = len(result.findings) > 1
        return Verdict(
            headline=f"{worst.surface.capitalize()} leak{' most' if many else ''}: {worst.setting}.",
            told=f"{worst.told}.",
            action=_action(result, worst),
            caution=caution,
        )
    return _quiet(result, worst, caution)


def _refuted(finding: Finding, caution: str) -> Verdict:
    return Verdict(
        headline=f"A promise is refuted: {finding.surface}, {finding.setting}.",
        told=f"It promises {finding.promise}, and the attack proves at least {finding.leak.epsilon_lower_bound:.2f}.",
        action="Release nothing by this mechanism until the fault is found: it is in the mechanism or in the attack.",
        caution=caution,
    )


def _action(result: AuditResult, finding: Finding) -> str:
    instead = result.alternative(finding) if finding.state is State.OPEN else None
    if instead is None:
        return f"{finding.remedy[0].upper()}{finding.remedy[1:]}."
    use = instead.utility
    gain = points(instead.leak.advantage)
    little = gain if instead.leaks else f"nothing that chance does not explain ({gain})"
    return (
        f"Release instead {instead.setting}. Measured on the same data, its attacker gains {little}; {use.measure}: "
        f"{percent(use.protected)}, {percent(use.unprotected)} without protection."
    )


def _quiet(result: AuditResult, worst: Finding, caution: str) -> Verdict:
    low, high = worst.leak.advantage_interval.low, worst.leak.advantage_interval.high
    none = "No planned release leaks" if len(result.findings) > 1 else "The planned release does not leak"
    return Verdict(
        headline=f"{none} as far as was measured.",
        told=f"The largest gain of an attacker is {points(worst.leak.advantage)} ({points(low)} to {points(high)}), by "
        f"{worst.surface}, {worst.setting}: chance explains it{_doubt(worst)}.",
        action=" ".join(filter(None, (_unpromised(result), _weak(result), _idle(result), _spent(result)))),
        caution=caution,
    )


def _doubt(worst: Finding) -> str:
    high, trials = worst.leak.advantage_interval.high, worst.leak.trials
    return f", but so would a leak of {points(high)} among only {trials:,} guesses" if high > _WIDE else ""


def _unpromised(result: AuditResult) -> str:
    bare = [finding.setting for finding in result.findings if not isinstance(finding.promise, Guarantee)]
    return f"Nothing is promised about {names(bare)}: a better attack may succeed, so add noise." if bare else ""


def _weak(result: AuditResult) -> str:
    weak = [finding.setting for finding in result.findings if (finding.epsilon or 0.0) > _HIGH]
    return f"Hardly anything is promised about {names(weak)}: lower epsilon." if weak else ""


def _idle(result: AuditResult) -> str:
    idle = [finding.setting for finding in result.findings if finding.utility.worthless]
    return f"But nothing can be learned from {names(idle)}: allow a larger epsilon." if idle else ""


def _spent(result: AuditResult) -> str:
    whole = [total for total in result.totals if isinstance(total.promise, Guarantee)]
    if len(whole) != 1 or len(result.totals) != 1:
        return ""
    all_made = "If it is made once" if whole[0].releases == 1 else f"If all {whole[0].releases} are made"
    return f"{all_made}, the total is {whole[0].promise}."


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
    """Return what leaves, at most ``most`` of it by name.

    Examples
    --------
    >>> names(["a", "b", "c", "d"], most=2)
    'a; b; and 2 more'
    """
    every = list(settings)
    more = [f"and {len(every) - most} more"] if len(every) > most else []
    return "; ".join([*every[:most], *more])
