"""AUC and F1: ratios whose denominators the labels decide, bounded by a public floor on the class counts."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count
from tacit.scores import attack
from tacit.scores.losses import Loss
from tacit.scores.protect.metrics.base import Metric, Numbers, check_classes, class_labels, finite
from tacit.scores.protect.metrics.rows import class_predictions

__all__ = ["F1", "Auc"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _CountMetric(Metric):
    """One number for the whole set, an average over classes where there are more than two."""

    lower_is_better = False
    additive = False

    classes: int = 2
    class_floor: int | None = None

    def __post_init__(self) -> None:
        check_classes(self.classes)
        if self.class_floor is not None:
            check_count(self.class_floor, name="class_floor")

    @property
    def term_bounds(self) -> tuple[float, float]:
        """0 and 1.

        Examples
        --------
        >>> Auc().term_bounds
        (0.0, 1.0)
        """
        return 0.0, 1.0

    def check_labels(self, labels: ArrayLike) -> NDArray[Any]:
        """Return labels in 0..classes-1.

        Examples
        --------
        >>> Auc().check_labels([1, 0])
        array([1, 0])
        """
        return class_labels(labels, classes=self.classes)

    def sensitivity(self, rows: int) -> float | None:
        """Return a bound that holds for all labels, or None without a ``class_floor``.

        One label of more than two classes moves two of the averaged values.

        Examples
        --------
        >>> round(Auc(class_floor=100).sensitivity(1000), 5), F1(class_floor=99).sensitivity(1000)
        (0.00999, 0.02)
        """
        check_count(rows, name="rows")
        if self.class_floor is None:
            return None
        moved = 1 if self.classes == 2 else 2 / self.classes
        return min(1.0, moved * self._one_class(rows, self.class_floor))

    @property
    def no_sensitivity(self) -> str:
        """The counts of the classes are private, and without a floor on them one label may move the score by 1/2.

        Examples
        --------
        >>> Auc().no_sensitivity[:47]
        'one label moves auc by an amount that depends o'
        """
        if self.class_floor is not None:
            return ""
        return (
            f"one label moves {self.name} by an amount that depends on the private class counts; "
            "give class_floor, a public number that every class surely reaches"
        )

    def to_json(self) -> dict[str, Any]:
        """Return name, classes and floor.

        Examples
        --------
        >>> F1().to_json()
        {'metric': 'f1', 'classes': 2, 'class_floor': None}
        """
        return {"metric": self.name, "classes": self.classes, "class_floor": self.class_floor}

    @abstractmethod
    def _one_class(self, rows: int, floor: int) -> float:
        """Bound how much one label moves the value of one class."""

    @abstractmethod
    def _value(self, positives: Numbers, scores: Numbers) -> float:
        """Return the value of one class from 0/1 labels."""

    def _terms(self, labels: NDArray[Any], predictions: Numbers) -> Numbers:
        asked = [1] if self.classes == 2 else range(self.classes)
        values = [self._value((labels == k).astype(np.float64), self._column(predictions, k)) for k in asked]
        return np.array([sum(values) / len(values)])

    @abstractmethod
    def _column(self, predictions: Numbers, label: int) -> Numbers:
        """Return what the submission says about one class."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Auc(_CountMetric):
    """The area under the ROC curve; for more than two classes the mean of each class against the rest.

    1/2 + (U - P N/2) / max(P N, m (n - m)), U the number of pairs in order (ties count half), P and N the positives
    and negatives of n rows, m the ``class_floor``. Where both classes have m rows or more this is the AUC. One label
    moves it by at most max(n - m - 1, (n - 1)/2) / (m (n - m)), about 1/m, for all labels and predictions: a wrong
    floor costs accuracy, never privacy. Proof: docs/proofs/scores_protect.md.

    Parameters
    ----------
    class_floor
        A public number of rows that every class surely has, at most rows/2; None: no guarantee can be given.

    Examples
    --------
    >>> Auc().score([0, 1, 0, 1], [0.1, 0.4, 0.4, 0.8])
    0.875
    >>> round(Auc(class_floor=600).sensitivity(2201), 6)
    0.001666
    """

    name = "auc"

    def check(self, predictions: ArrayLike, *, rows: int) -> Numbers:
        """Return finite scores: (rows,), or (rows, classes) for more than two classes.

        Examples
        --------
        >>> Auc().check([3.0, -1.0], rows=2)
        array([ 3., -1.])
        """
        return finite(predictions, rows=rows, columns=None if self.classes == 2 else self.classes)

    def attacked_as(self) -> Loss | attack.Metric | None:
        """Return the AUC of two classes; None for more.

        Examples
        --------
        >>> Auc().attacked_as()
        AUC(classes=2)
        """
        return attack.AUC() if self.classes == 2 else None

    def _one_class(self, rows: int, floor: int) -> float:
        if not 2 * floor <= rows:
            raise InvalidInput(f"class_floor must be at most rows/2 for auc, got {floor} of {rows} rows")
        return max(rows - floor - 1, (rows - 1) / 2) / (floor * (rows - floor))

    def _column(self, predictions: Numbers, label: int) -> Numbers:
        return predictions if self.classes == 2 else predictions[:, label]

    def _value(self, positives: Numbers, scores: Numbers) -> float:
        rows = len(scores)
        ranks = rankdata(scores)  # depends on the predictions alone
        P = float(positives.sum())
        pairs = P * (rows - P)
        in_order = float(ranks @ positives) - P * (P + 1) / 2
        m = min(self.class_floor or 1, max(1, rows // 2))
        return 0.5 + (in_order - pairs / 2) / max(pairs, float(m * (rows - m)), 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class F1(_CountMetric):
    """F1 of class 1; for more than two classes the mean of each class's (macro F1). Predictions are classes.

    2 TP / (S + max(P, m)), S the rows predicted positive, P the positives, m the ``class_floor``. Where P >= m this is
    F1, and 0 where nothing is predicted positive. One label moves it by at most 2/(m + 1) for all labels and
    predictions. Proof: docs/proofs/scores_protect.md.

    Parameters
    ----------
    class_floor
        A public number of positives (rows of every class, for more than two) that there surely are; None: no
        guarantee can be given.

    Examples
    --------
    >>> round(F1().score([1, 0, 1, 1], [1, 1, 1, 0]), 4)
    0.6667
    """

    name = "f1"

    def check(self, predictions: ArrayLike, *, rows: int) -> Numbers:
        """Return predicted classes.

        Examples
        --------
        >>> F1().check([1, 0], rows=2)
        array([1., 0.])
        """
        return class_predictions(predictions, rows=rows, classes=self.classes)

    def attacked_as(self) -> Loss | attack.Metric | None:
        """Return the F1 of two classes; None for more.

        Examples
        --------
        >>> F1().attacked_as()
        F1(classes=2)
        """
        return attack.F1() if self.classes == 2 else None

    def _one_class(self, _: int, floor: int) -> float:
        return 2 / (floor + 1)

    def _column(self, predictions: Numbers, label: int) -> Numbers:
        return np.asarray(predictions == label, dtype=np.float64)

    def _value(self, positives: Numbers, scores: Numbers) -> float:
        chosen, P = float(scores.sum()), float(positives.sum())
        # where nothing is chosen and nothing is positive the ratio would be 0/0
        return 2 * float(scores @ positives) / max(chosen + max(P, float(self.class_floor or 0)), 1.0)
