"""F1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tacit.scores.metrics.ratios import RatioMetric
from tacit.scores.metrics.reveals import TruePositives

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tacit.scores.metrics.base import Numbers

__all__ = ["F1"]


@dataclass(frozen=True, kw_only=True)
class F1(RatioMetric):
    """F1 of class 1; for more than two classes the mean of each class's (macro F1). Predictions are classes.

    2 TP / (S + max(P, m)), S the rows predicted positive, P the positives, m the ``class_floor``. Where P >= m this is
    F1, and 0 where nothing is predicted positive. One label moves it by at most 2/(m + 1) for all labels and
    predictions. Proof: docs/proofs/scores_protect.md.

    Parameters
    ----------
    class_floor
        A public number of positives (rows of every class, for more than two) that there surely are; None: no
        guarantee can be given.
    """

    name: ClassVar[str] = "f1"
    title = "F1"
    reads_classes = True

    @property
    def reveals(self) -> TruePositives | None:
        """How many of the rows predicted positive are; None for more than two classes."""
        return TruePositives() if self.classes == 2 else None

    def check(self, predictions: ArrayLike, *, rows: int) -> Numbers:
        """Return predicted classes."""
        from tacit.scores.metrics.checking import class_predictions

        return class_predictions(predictions, rows=rows, classes=self.classes)

    def _one_class(self, _: int, floor: int) -> float:
        return 2 / (floor + 1)

    def _column(self, predictions: Numbers, label: int) -> Numbers:
        import numpy as np

        return np.asarray(predictions == label, dtype=np.float64)

    def _value(self, positives: Numbers, scores: Numbers) -> float:
        chosen, P = float(scores.sum()), float(positives.sum())
        # where nothing is chosen and nothing is positive the ratio would be 0/0
        return 2 * float(scores @ positives) / max(chosen + max(P, float(self.class_floor or 0)), 1.0)
