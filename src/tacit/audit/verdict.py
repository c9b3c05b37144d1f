"""The whole run in two sentences: which release leaks most, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from tacit.audit.finding import Finding, State
from tacit.audit.result import AuditResult
from tacit.audit.words import WEAK, listed, percent, points, proved
from tacit.privacy.guarantee import Guarantee

__all__ = ["Verdict", "judge", "names"]

_WIDE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
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

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return asdict(self)


def judge(result: AuditResult) -> Verdict:
    """Return the verdict on a run."""
    caution, worst = _caution(result), result.worst
    if worst is None:
        return Verdict(headline="Nothing was audited.", told="", action="", caution=caution)
    if result.broken:
        return _violated(result.broken[0], caution)
    if worst.leaks:
        within = f" That is within its guarantee, {worst.guarantee}." if worst.state is State.WITHIN else ""
        return Verdict(
            headline=_headline(result, worst),
            told=f"{worst.told}.{within}",
            action=" ".join(filter(None, (_action(result, worst), _others(result, worst)))),
            caution=caution,
        )
    return _quiet(result, worst, caution)


def _violated(finding: Finding, caution: str) -> Verdict:
    shown = proved(finding.leak.epsilon_lower_bound)
    return Verdict(
        headline=f"A guarantee is violated: {finding.surface}, {finding.setting}.",
        told=f"It states {finding.guarantee}, but the attack shows that epsilon is {shown}.",
        action="Release nothing by this mechanism until the fault is found: it is in the mechanism or in the attack.",
        caution=caution,
    )


def _headline(result: AuditResult, worst: Finding) -> str:
    rest = [other for other in result.ranked if other is not worst]
    tied = [
        f"{other.surface}, {other.setting}"
        for other in rest
        if other.leaks and other.leak.advantage == worst.leak.advantage
    ]
    as_much = f"; as much: {names(tied)}" if tied else ""
    return f"{worst.surface.capitalize()} leak{' most' if rest else ''}: {worst.setting}{as_much}."


def _action(result: AuditResult, finding: Finding) -> str:
    instead = result.alternative(finding) if finding.state is State.OPEN else None
    if instead is None:
        return f"{finding.remedy[0].upper()}{finding.remedy[1:]}."
    use = instead.utility
    chance = "" if instead.leaks else f", which is not statistically significant{_doubt(instead)}"
    return (
        f"Instead, release {instead.setting}. The guarantee is {instead.guarantee}. In the same run the attacker's "
        f"advantage is {points(instead.leak.advantage)} ({_reach(instead)}){chance}; {use.measure}: "
        f"{percent(use.protected)}, compared with {percent(use.unprotected)} without protection."
    )


def _others(result: AuditResult, worst: Finding) -> str:
    count = sum(other.state is State.OPEN for other in result.findings if other is not worst)
    if not count:
        return ""
    return f"{count} other release{'s leak' if count > 1 else ' leaks'} too, without a guarantee: see below."


def _quiet(result: AuditResult, worst: Finding, caution: str) -> Verdict:
    none = "No planned release leaks" if len(result.findings) > 1 else "The planned release does not leak"
    return Verdict(
        headline=f"{none} as far as was measured.",
        told=f"The largest advantage of an attacker is {points(worst.leak.advantage)} ({_reach(worst)}), by "
        f"{worst.surface}, {worst.setting}, which is not statistically significant{_least_known(result, worst)}.",
        action=" ".join(filter(None, (_unguaranteed(result), _weak(result), _idle(result), _spent(result)))),
        caution=caution,
    )


def _reach(finding: Finding) -> str:
    gain = finding.leak.advantage_interval
    return f"{points(gain.low).removesuffix(' points')} to {points(gain.high).removesuffix(' points')}"


def _least_known(result: AuditResult, worst: Finding) -> str:
    """Say which release may leak most for all that was measured: not always the one with the largest advantage."""
    widest = max(result.findings, key=lambda finding: finding.leak.advantage_interval.high)
    of = "" if widest is worst or not _doubt(widest) else f" from {widest.surface}, {widest.setting}"
    return f"{_doubt(widest)}{of}"


def _doubt(finding: Finding) -> str:
    high, trials = finding.leak.advantage_interval.high, finding.leak.trials
    return f", but neither would be a leak of {points(high)} among only {trials:,} guesses" if high > _WIDE else ""


def _unguaranteed(result: AuditResult) -> str:
    bare = [finding.setting for finding in result.findings if not isinstance(finding.guarantee, Guarantee)]
    return f"Nothing is guaranteed for {names(bare)}: a better attack may succeed, so add noise." if bare else ""


def _weak(result: AuditResult) -> str:
    weak = [finding.setting for finding in result.findings if (finding.epsilon or 0.0) > WEAK]
    return f"Hardly anything is guaranteed for {names(weak)}: lower epsilon." if weak else ""


def _idle(result: AuditResult) -> str:
    idle = [finding.setting for finding in result.findings if finding.utility.worthless]
    return f"But nothing can be learned from {names(idle)}: allow a larger epsilon." if idle else ""


def _spent(result: AuditResult) -> str:
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
