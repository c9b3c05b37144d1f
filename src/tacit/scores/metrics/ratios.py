"""AUC and F1: ratios whose denominators the labels decide, bounded by a public floor on class counts."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count
from tacit.privacy.settings import BOUND, Choice, count
from tacit.scores.metrics.base import Metric
from tacit.scores.metrics.reveals import RankSums, TruePositives

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from tacit.scores.metrics.base import Numbers

__all__ = ["F1", "Auc"]


@dataclass(frozen=True, kw_only=True)
class _RatioMetric(Choice, Metric):
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


@dataclass(frozen=True, kw_only=True)
class Auc(_RatioMetric):
    """The area under the ROC curve; for more than two classes the mean of each class against the rest.

    1/2 + (U - P N/2) / max(P N, m (n - m)), U the number of pairs in order (ties count half), P and N the positives
    and negatives of n rows, m the ``class_floor``. Where both classes have m rows or more this is the AUC. One label
    moves it by at most max(n - m - 1, (n - 1)/2) / (m (n - m)), about 1/m, for all labels and predictions: a wrong
    floor costs accuracy, never privacy. Proof: docs/proofs/scores_protect.md.

    Parameters
    ----------
    class_floor
        A public number of rows that every class surely has, at most rows/2; None: no guarantee can be given.
    """

    name: ClassVar[str] = "auc"
    title = "AUC"
    per_class = True

    @property
    def reveals(self) -> RankSums | None:
        """The ranks of the positives; None for more than two classes."""
        return RankSums() if self.classes == 2 else None

    def check(self, predictions: ArrayLike, *, rows: int) -> Numbers:
        """Return finite scores: (rows,), or (rows, classes) for more than two classes."""
        from tacit.scores.metrics.checking import finite

        return finite(predictions, rows=rows, columns=None if self.classes == 2 else self.classes)

    def _one_class(self, rows: int, floor: int) -> float:
        if not 2 * floor <= rows:
            raise InvalidInput(f"class_floor must be at most rows/2 for auc, got {floor} of {rows} rows")
        return max(rows - floor - 1, (rows - 1) / 2) / (floor * (rows - floor))

    def _column(self, predictions: Numbers, label: int) -> Numbers:
        return predictions if self.classes == 2 else predictions[:, label]

    def _value(self, positives: Numbers, scores: Numbers) -> float:
        from scipy.stats import rankdata

        rows = len(scores)
        ranks = rankdata(scores)  # depends on the predictions alone
        P = float(positives.sum())
        pairs = P * (rows - P)
        in_order = float(ranks @ positives) - P * (P + 1) / 2
        m = min(self.class_floor or 1, max(1, rows // 2))
        return 0.5 + (in_order - pairs / 2) / max(pairs, float(m * (rows - m)), 1.0)


@dataclass(frozen=True, kw_only=True)
class F1(_RatioMetric):
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
