"""What is known about a classifier that was learned from a release."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["FisherReport", "JudgedAccuracy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAccuracy:
    """The accuracy of a classifier; for released rows an estimate that is corrected for the labels' noise."""

    accuracy: float
    standard_error: float
    rows: int
    judged_by: str
    majority: float

    def __str__(self) -> str:
        verdict = "" if self.accuracy > self.majority else "; no better than always guessing the majority class"
        return (
            f"Accuracy {self.accuracy:.4f} (standard error {self.standard_error:.4f}) on {self.rows:,} "
            f"{self.judged_by}; the majority class has a share of {self.majority:.4f}{verdict}."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FisherReport:
    """Which features a classifier reads, by which rule, and how well it does."""

    features: tuple[str, ...]
    rule: str
    judgment: JudgedAccuracy | None

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain JSON."""
        judged = {} if self.judgment is None else asdict(self.judgment)
        return {"features": list(self.features), "rule": self.rule, "accuracy": None, **judged}

    def __str__(self) -> str:
        unknown = "Accuracy unknown: nothing was held out, and there are no test rows."
        return f"Fisher's rule ({self.rule}) on {', '.join(self.features)}.\n{self.judgment or unknown}"
