"""The evaluation of a model that was learned from released labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit.labels.learners.validate import AccuracyEstimate

__all__ = ["AccuracyReport", "ErrorReport"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyReport:
    """The accuracy of a classifier."""

    # rows, judged_rows: rows trained on, and rows that the accuracy is of
    rows: int
    judged_rows: int
    accuracy: float | None  # on true labels, or estimated from released ones; None if nothing can be said
    estimate: AccuracyEstimate | None  # from released labels
    # the share of the majority class among the rows judged, counted or estimated in the same way
    majority: float | None
    tested: bool  # whether the accuracy is that on true labels, outside the guarantee
    consensus: float  # the share of training rows whose prediction is the released label, after the first fit

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as plain JSON."""
        return {
            "accuracy": self.accuracy,
            "accuracy_inside_guarantee": self.accuracy is not None and not self.tested,
            "accuracy_interval": self.estimate and self.estimate.interval,
            "accuracy_standard_error": self.estimate and self.estimate.standard_error,
            "majority_share": self.majority,
            "consensus_fraction": self.consensus,
            "rows": self.rows,
            "judged_rows": self.judged_rows,
        }

    def __str__(self) -> str:
        agree = f"Predictions agree with {self.consensus:.1%} of the released labels."
        return f"{self.rows:,} rows. {self._accuracy()} {agree}"

    def _accuracy(self) -> str:
        if self.accuracy is None or self.majority is None:
            return (
                "Not evaluated: these released labels give no unbiased estimate; give rows with true labels to test on."
            )
        if self.tested:
            judged = f"Accuracy {self.accuracy:.1%} on the true labels of {self.judged_rows:,} test rows."
        else:
            judged = f"Accuracy {self.estimate}, estimated from {self.judged_rows:,} released labels."
        if self.accuracy <= self.majority:
            return f"{judged} No better than always guessing the majority class ({self.majority:.1%})."
        return f"{judged} The majority class alone: {self.majority:.1%}."


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorReport:
    """The root mean squared error of a regressor, beside that of always predicting the mean.

    Without true labels both errors are from released numbers, whose noise is part of them.
    """

    rows: int
    judged_rows: int
    error: float | None
    constant_error: float | None
    tested: bool

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as plain JSON."""
        return {
            "root_mean_squared_error": self.error,
            "constant_error": self.constant_error,
            "error_inside_guarantee": self.error is not None and not self.tested,
            "rows": self.rows,
            "judged_rows": self.judged_rows,
        }

    def __str__(self) -> str:
        if self.error is None or self.constant_error is None:
            return f"{self.rows:,} rows. Not evaluated."
        of = "true labels" if self.tested else "released numbers, noise included,"
        verdict = "" if self.error < self.constant_error else " No better than always predicting the mean."
        return (
            f"{self.rows:,} rows. Root mean squared error {self.error:.4g} on the {of} of {self.judged_rows:,} rows; "
            f"{self.constant_error:.4g} for always predicting the mean.{verdict}"
        )
