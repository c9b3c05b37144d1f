"""Two runs side by side."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from tacit.audit.finding import Finding
from tacit.audit.result import AuditResult
from tacit.leak import Interval

__all__ = ["Pair", "compare"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The same release in two runs; None if one of them does not have it."""

    before: Finding | None
    after: Finding | None

    @property
    def release(self) -> str:
        """What is released, in words."""
        finding = self.after or self.before
        return "" if finding is None else f"{finding.surface}: {finding.setting}"

    @property
    def change(self) -> Interval | None:
        """Of the advantage, now minus then; from both intervals, so that each may miss."""
        if self.before is None or self.after is None:
            return None
        then, now = self.before.leak.advantage_interval, self.after.leak.advantage_interval
        return Interval(low=now.low - then.high, high=now.high - then.low, level=now.level + then.level - 1)

    @property
    def clear(self) -> bool:
        """Whether the leak changed by more than the two intervals explain."""
        return self.change is None or self.change.low > 0 or self.change.high < 0

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON, without the findings that the two runs have."""
        then, now = (None if side is None else side.leak.advantage for side in (self.before, self.after))
        change = None if self.change is None else self.change.to_json()
        return {"release": self.release, "then": then, "now": now, "change_interval": change, "clear": self.clear}


def compare(before: AuditResult, after: AuditResult) -> tuple[Pair, ...]:
    """Pair the planned releases of two runs by surface, data, setting and order, those of the later run first."""
    old, new = (_named(run) for run in (before, after))
    return tuple(Pair(before=old.get(name), after=new.get(name)) for name in dict.fromkeys([*new, *old]))


def _named(run: AuditResult) -> dict[tuple[str, str, str, int], Finding]:
    """Name each release by its words; releases with equal words are numbered in order."""
    seen: Counter[tuple[str, str, str]] = Counter()
    named = {}
    for finding in run.findings:
        words = finding.surface, finding.data, finding.setting
        named[*words, seen[words]] = finding
        seen[words] += 1
    return named
