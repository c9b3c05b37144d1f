"""The result of an audit: every release, their total privacy cost, and what was left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tacit.audit.answer import Permission
from tacit.audit.budget import LedgerBalance
from tacit.audit.checked_guarantee import CheckedGuarantee
from tacit.audit.finding import Finding
from tacit.audit.joint import JointFinding
from tacit.audit.total import TotalCost
from tacit.audit.words import WEAK
from tacit.leak.stored_result import StoredResult

__all__ = ["AuditResult", "SkippedSurface"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedSurface(StoredResult):
    """A surface that was not audited, and why."""

    surface: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResult(StoredResult):
    """All that one run found.

    Parameters
    ----------
    findings
        The planned releases, in the plan's order.
    together
        The releases of each table as one, where attacks on them can be combined.
    curve
        The planned releases at other epsilons.
    totals
        The total privacy cost of the planned releases of each data set.
    ledger
        What the ledger has of the table, and would have after the planned releases; None without a ledger.
    version, date
        Of tacit, and of the run, ISO 8601.
    seed
        The seed, or None: then real entropy was used and the numbers vary from run to run.
    planned
        The number of planned releases: more than findings if the run is partial.
    command
        The command that runs the whole plan again.
    """

    known_as: ClassVar[str] = "an audit"

    version: str
    date: str
    seed: int | None
    findings: tuple[Finding, ...]
    together: tuple[JointFinding, ...] = ()
    curve: tuple[Finding, ...] = ()
    totals: tuple[TotalCost, ...] = ()
    ledger: LedgerBalance | None = None
    skipped: tuple[SkippedSurface, ...] = ()
    planned: int = 0
    command: str = ""

    @property
    def ranked(self) -> tuple[Finding, ...]:
        """The planned releases by harm: violated guarantees, determined labels, no, not known yet, yes."""
        return tuple(sorted(self.findings, key=lambda finding: (finding.state.harm, -finding.exposed)))

    @property
    def worst(self) -> Finding | None:
        """The most harmful planned release."""
        return next(iter(self.ranked), None)

    @property
    def worse_together(self) -> JointFinding | None:
        """The releases that are more harmful together than each by itself; None if there are none."""
        worse = [joint for joint in self.together if joint.state.harm < joint.alone.harm]
        return min(worse, key=lambda joint: joint.state.harm, default=None)

    @property
    def most_harmful(self) -> CheckedGuarantee | None:
        """What the verdict is about: the most harmful release, or several together that are worse than each of them."""
        found = [one for one in (self.worst, self.worse_together) if one is not None]
        return min(found, key=lambda one: one.state.harm, default=None)

    @property
    def missing(self) -> int:
        """How many planned releases were not audited."""
        return max(0, self.planned - len(self.findings))

    @property
    def broken(self) -> tuple[Finding, ...]:
        """Every finding whose leak is above its guarantee."""
        return tuple(finding for finding in (*self.findings, *self.curve) if finding.broken)

    def alternative(self, finding: Finding) -> Finding | None:
        """Return a release of the same surface and data that may be handed out, has utility, and guarantees enough.

        Its epsilon is at most 10: beyond that next to nothing is guaranteed. Among those that are not clearly less
        useful than the most useful one, it has the smallest epsilon.
        """
        better = [other for other in (*self.findings, *self.curve) if _is_better(other, finding)]
        most = max((other.utility.protected for other in better), default=0.0)
        useful = [other for other in better if other.utility.interval.high >= most]
        return min(useful, key=lambda other: (other.epsilon or 0.0, -other.utility.protected), default=None)


def _is_better(other: Finding, finding: Finding) -> bool:
    return (
        (other.surface, other.data) == (finding.surface, finding.data)
        and other.epsilon is not None
        and other.epsilon <= WEAK
        and other.answer is Permission.YES
        and other.utility.protected > other.utility.blind
    )
