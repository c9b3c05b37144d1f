"""What AUC and F1 share: ratios whose denominators the labels decide, bounded by a public floor on class counts."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tacit.privacy.rounding import check_count
from tacit.privacy.settings import BOUND, Choice, count
from tacit.scores.metrics.base import Metric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.scores.metrics.base import Numbers

__all__ = ["RatioMetric"]


@dataclass(frozen=True, kw_only=True)
class RatioMetric(Choice, Metric):
    """One number for the whole set, an average over classes where there are more than two."""

    lower_is_better = False
    additive = False

    classes: int = field(default=2, metadata=BOUND)
    class_floor: int | None = field(
        default=None, metadata=count("A public lower bound on the rows of every class; a guarantee requires it.")
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count(self.classes, name="classes", least=2)

    @property
    def term_bounds(self) -> tuple[float, float]:
        """0 and 1."""
        return 0.0, 1.0

    def sensitivity(self, rows: int) -> float | None:
        """Return a bound that holds for all labels, or None without a ``class_floor``.

        One label of more than two classes moves two of the averaged values.
        """
        check_count(rows, name="rows")
        if self.class_floor is None:
            return None
        moved = 1 if self.classes == 2 else 2 / self.classes
        return min(1.0, moved * self._one_class(rows, self.class_floor))

    @property
    def no_sensitivity(self) -> str:  # type: ignore[override]
        """The class counts are private, and without a floor on them one label may move the score by 1/2."""
        if self.class_floor is not None:
            return ""
        return (
            f"one label moves {self.name} by an amount that depends on the private class counts; "
            "give class_floor, a public lower bound on the rows of every class"
        )

    @abstractmethod
    def _one_class(self, rows: int, floor: int) -> float:
        """Bound how much one label moves the value of one class."""

    @abstractmethod
    def _value(self, positives: Numbers, scores: Numbers) -> float:
        """Return the value of one class from 0/1 labels."""

    @abstractmethod
    def _column(self, predictions: Numbers, label: int) -> Numbers:
        """Return the submission's predictions for one class."""

    def _terms(self, labels: NDArray[Any], predictions: Numbers) -> Numbers:
        import numpy as np

        asked = [1] if self.classes == 2 else range(self.classes)
        values = [self._value((labels == k).astype(np.float64), self._column(predictions, k)) for k in asked]
        return np.array([sum(values) / len(values)])
