"""One planned release: guarantee, leak, utility and advice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit.audit.checked_guarantee import CheckedGuarantee
from tacit.audit.utility import Utility
from tacit.leak import Interval, clopper_pearson
from tacit.privacy.guarantee import Guarantee

__all__ = ["Finding"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(CheckedGuarantee):
    """One release that was planned, made and attacked.

    Parameters
    ----------
    setting
        What is released, in words.
    told, remedy
        What the release reveals, and what to do; together they are one sentence.
    seconds
        The duration of one release and attack.
    curve
        The planned release of whose curve this is a point, in words; empty for a planned release. Set by the run.
    budget, period
        The most that all releases of the table may cost together, and the time that this is for, in words; set by the
        run.
    command
        The command that measures it again; set by the run.
    commands
        What makes this release of the same rows, learns from it and attacks it, without the audit; set by the run, and
        empty where there is no file.
    """

    surface: str
    setting: str
    utility: Utility
    told: str
    remedy: str
    seconds: float
    curve: str = ""
    budget: float | None = None
    period: str = ""
    command: str = ""
    commands: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The surface and what is released, in words."""
        return f"{self.surface}: {self.setting}"

    @property
    def advice(self) -> str:
        """What the release reveals and what to do, one sentence."""
        return f"{self.told}: {self.remedy}."

    @property
    def baseline_interval(self) -> Interval:
        """The interval of the rate without the release; without width if it is exact, such as chance."""
        leak, level = self.leak, self.leak.interval.level
        if leak.baseline_right is None or leak.baseline_trials is None:
            return Interval(low=leak.baseline, high=leak.baseline, level=level)
        return clopper_pearson(leak.baseline_right, leak.baseline_trials, level=level)

    def to_json(self) -> dict[str, Any]:
        """Return the finding as plain JSON, with what follows from it."""
        return {
            **CheckedGuarantee.to_json(self),
            "advice": self.advice,
            "disclosure": self.disclosure(),
            "baseline_interval": self.baseline_interval.to_json(),
        }

    def disclosure(self) -> dict[str, Any]:
        """Return the release's entry of a registry of disclosures."""
        held = self.guarantee if isinstance(self.guarantee, Guarantee) else None
        return {
            "surface": self.surface,
            "column": self.column,
            "mechanism": self.setting,
            "unit": None if held is None else held.protects,
            "epsilon": self.epsilon,
            "delta": None if held is None else held.delta,
            "public": [] if held is None else [*held.assumptions],
            "budget": self.budget,
            "budget_period": self.period or None,
            "limit_on_odds": self.limit,
            "odds_at_least": self.exposed,
            "answer": self.answer.value,
            "has_utility": not self.utility.worthless,
        }
