"""How good a model is that was learned from a release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tacit.leak.number_performance import NumberPerformance
from tacit.leak.performance import ClassPerformance

__all__ = ["ModelReport", "Performance"]

Performance = ClassPerformance | NumberPerformance


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReport:
    """The performance of a model, and what its surface adds.

    Parameters
    ----------
    performance
        None if there are no labels to judge by.
    rows
        The rows that the model was trained on, if known.
    remarks
        A sentence each, to be read before the performance.
    details
        The numbers of the remarks, for JSON.
    """

    performance: Performance | None = None
    rows: int | None = None
    remarks: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def accuracy(self) -> float | None:
        """The share of labels that are predicted correctly; None for numbers, and if nothing was evaluated."""
        return self.performance.accuracy.value if isinstance(self.performance, ClassPerformance) else None

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as plain JSON, with the same keys on every surface."""
        performance = None if self.performance is None else self.performance.to_json()
        return {"rows": self.rows, "performance": performance, "details": dict(self.details)}

    def __str__(self) -> str:
        unknown = "Not evaluated: no labels to judge by; give rows with true labels to test on."
        return "\n".join([*self.remarks, str(self.performance or unknown)])
