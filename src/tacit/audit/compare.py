"""Two runs side by side."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from tacit.audit.checked_guarantee import finite
from tacit.audit.finding import Finding
from tacit.audit.result import AuditResult
from tacit.leak import Interval, OddsChange

__all__ = ["ComparedRelease", "compare"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRelease:
    """The same release in two runs; None if one of them does not have it."""

    before: Finding | None
    after: Finding | None

    @property
    def release(self) -> str:
        """What is released, in words."""
        finding = self.after or self.before
        return "" if finding is None else finding.name

    @property
    def worst(self) -> tuple[OddsChange, OddsChange] | None:
        """What both runs measured of the class that is worst off now; None if one of them measured nothing of it."""
        now = next(iter(self.after.leak.changes), None) if self.after else None
        changes = self.before.leak.changes if self.before else ()
        then = next((change for change in changes if now is not None and change.name == now.name), None)
        return None if now is None or then is None else (then, now)

    @property
    def factor(self) -> Interval | None:
        """The change of odds now divided by that of then; from both intervals, so that each may miss."""
        if self.worst is None:
            return None
        then, now = (change.odds_interval for change in self.worst)
        return Interval(
            low=_ratio(now.low, then.high), high=_ratio(now.high, then.low), level=now.level + then.level - 1
        )

    @property
    def clear(self) -> bool:
        """Whether the leak changed by more than the two intervals explain."""
        return self.factor is None or self.factor.low > 1 or self.factor.high < 1

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON, without the findings that the two runs have; infinity is null."""
        then, now = (None, None) if self.worst is None else (finite(change.odds) for change in self.worst)
        factor = None if self.factor is None else {"low": self.factor.low, "high": finite(self.factor.high)}
        return {"release": self.release, "odds_then": then, "odds_now": now, "factor": factor, "clear": self.clear}


def _ratio(now: float, then: float) -> float:
    return math.inf if then == 0 or math.isinf(now) else 0.0 if math.isinf(then) else now / then


def compare(before: AuditResult, after: AuditResult) -> tuple[ComparedRelease, ...]:
    """Pair the planned releases of two runs by surface, data, setting and order, those of the later run first."""
    old, new = (_named(run) for run in (before, after))
    return tuple(ComparedRelease(before=old.get(name), after=new.get(name)) for name in dict.fromkeys([*new, *old]))


def _named(run: AuditResult) -> dict[tuple[str, str, str, int], Finding]:
    """Name each release by its words; releases with equal words are numbered in order."""
    seen: Counter[tuple[str, str, str]] = Counter()
    named = {}
    for finding in run.findings:
        words = finding.surface, finding.data, finding.setting
        named[*words, seen[words]] = finding
        seen[words] += 1
    return named
