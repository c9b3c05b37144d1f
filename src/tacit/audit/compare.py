"""Two runs side by side."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.audit.result import AuditResult, Finding

__all__ = ["Pair", "compare"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The same release in two runs; None where one of them does not have it.

    Examples
    --------
    >>> Pair(before=None, after=None).release
    ''
    """

    before: Finding | None
    after: Finding | None

    @property
    def release(self) -> str:
        """What left, in words."""
        finding = self.after or self.before
        return "" if finding is None else f"{finding.surface}: {finding.setting}"

    @property
    def clear(self) -> bool:
        """Whether the leak changed by more than the two intervals explain."""
        if self.before is None or self.after is None:
            return True
        before, after = self.before.leak.advantage_interval, self.after.leak.advantage_interval
        return before.high < after.low or after.high < before.low


def compare(before: AuditResult, after: AuditResult) -> tuple[Pair, ...]:
    """Pair the planned releases of two runs by surface, data and setting, those of the later run first.

    Examples
    --------
    >>> empty = AuditResult(findings=(), version="0", date="2026-01-01", seed=0)
    >>> compare(empty, empty)
    ()
    """
    old, new = ({_name(finding): finding for finding in run.findings} for run in (before, after))
    return tuple(Pair(before=old.get(name), after=new.get(name)) for name in dict.fromkeys([*new, *old]))


def _name(finding: Finding) -> tuple[str, str, str]:
    return finding.surface, finding.data, finding.setting
