"""Accuracy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from tacit.privacy.rounding import check_count
from tacit.privacy.settings import BOUND, Choice
from tacit.scores.metrics.base import Metric
from tacit.scores.metrics.reveals import RightRows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from tacit.scores.metrics.base import Numbers

__all__ = ["Accuracy"]


@dataclass(frozen=True, kw_only=True)
class Accuracy(Choice, Metric):
    """The share of rows predicted correctly; predictions are classes 0..classes-1. Sensitivity: 1/rows."""

    name: ClassVar[str] = "accuracy"
    title = "accuracy"
    reads_classes = True
    lower_is_better = False

    classes: int = field(default=2, metadata=BOUND)

    def __post_init__(self) -> None:
        check_count(self.classes, name="classes", least=2)

    @property
    def term_bounds(self) -> tuple[float, float]:
        """0 and 1."""
        return 0.0, 1.0

    @property
    def reveals(self) -> RightRows:
        """How many rows are predicted correctly."""
        return RightRows(classes=self.classes)

    def check(self, predictions: ArrayLike, *, rows: int) -> Numbers:
        """Return predicted classes."""
        from tacit.scores.metrics.checking import class_predictions

        return class_predictions(predictions, rows=rows, classes=self.classes)

    def _terms(self, labels: NDArray[Any], predictions: Numbers) -> Numbers:
        import numpy as np

        return np.asarray(labels == predictions, dtype=np.float64)
