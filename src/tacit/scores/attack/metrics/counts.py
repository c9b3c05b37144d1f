"""Accuracy and F1: every score counts the labels of a chosen subset, a coin weighing."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import accuracy_score, f1_score

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count
from tacit.scores.attack.answers import Answers
from tacit.scores.attack.design import Design, all_rows
from tacit.scores.attack.errors import InconsistentAnswer
from tacit.scores.attack.metrics.base import Metric, two_classes
from tacit.scores.attack.steps import Labels, Query, Steps
from tacit.scores.attack.weighing import DetectingMatrix, detecting_matrices
from tacit.scores.losses.precision import Numbers

__all__ = ["F1", "Accuracy", "CountDesign"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CountDesign(Design):
    """Count the positives of chosen subsets with a detecting matrix of entries 0 and 1.

    Examples
    --------
    >>> from tacit.scores.attack import Exact
    >>> CountDesign(metric=F1(), rows=100, answers=Exact()).queries
    41
    """

    metric: _CountMetric
    rows: int
    answers: Answers

    def __post_init__(self) -> None:
        check_count(self.rows, name="rows", least=2)
        self.metric.check(rows=self.rows, answers=self.answers)

    @property
    def queries(self) -> int:
        """One query for the number of zeros or ones, then the matrix; for more classes one a class."""
        classes = self.metric.classes
        later = [(self.rows * (classes - label) // classes, 2) for label in range(2, classes - 1)]
        passes = [(self.rows, min(3, classes)), *later]
        return 1 + sum(
            matrix.queries for rows, radix in passes for matrix in detecting_matrices(rows, low=0, high=1, radix=radix)
        )

    @property
    def expected(self) -> bool:
        """With more than two classes later matrices depend on the rows still unknown: planned for equal classes.

        Examples
        --------
        >>> from tacit.scores.attack import Exact
        >>> CountDesign(metric=Accuracy(classes=3), rows=100, answers=Exact()).expected
        True
        """
        return self.metric.classes > 2

    def steps(self, *, order: Labels | None = None) -> Steps:
        """Return the queries.

        Examples
        --------
        >>> from tacit.scores.attack import Exact
        >>> next(CountDesign(metric=F1(), rows=3, answers=Exact()).steps()).predictions
        array([1, 1, 1])
        """
        rows = all_rows(order, rows=self.rows)
        return self.metric.steps(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class _CountMetric(Metric):
    classes: int = 2

    def designs(self, *, rows: int, answers: Answers) -> Iterator[Design]:
        """Yield the coin weighing.

        Examples
        --------
        >>> from tacit.scores.attack import Exact, Accuracy
        >>> next(Accuracy().designs(rows=100, answers=Exact())).queries
        41
        """
        yield CountDesign(metric=self, rows=rows, answers=answers)

    def largest_weight(self, *, rows: int, answers: Answers) -> float:  # noqa: ARG002
        """Return 1: a label adds one to a count or none.

        Examples
        --------
        >>> from tacit.scores.attack import Exact, F1
        >>> F1().largest_weight(rows=10, answers=Exact())
        1.0
        """
        return 1.0

    def neutral(self, rows: int) -> Numbers:
        """Return class 0 for every row.

        Examples
        --------
        >>> from tacit.scores.attack import Accuracy
        >>> Accuracy().neutral(3)
        array([0, 0, 0])
        """
        return np.zeros(rows, dtype=np.int64)

    def check(self, *, rows: int, answers: Answers) -> None:
        """Raise unless one label shows in an answer.

        Examples
        --------
        >>> from tacit.scores.attack import Accuracy, Rounded
        >>> Accuracy().check(rows=5000, answers=Rounded(decimals=3))
        Traceback (most recent call last):
        ...
        tacit.privacy.errors.InvalidInput: answers must tell one label of 5000 rows: accuracy moves by ...
        """
        if (blur := self._blur(rows=rows, error=answers.error(largest=1.0))) >= 0.5:
            raise InvalidInput(
                f"answers must tell one label of {rows} rows: {self._name} moves by at least {1 / rows:.3g} with a "
                f"label, and {answers} blurs a count by {blur:.3g}, which must be below 1/2"
            )

    @property
    def _name(self) -> str:
        return type(self).__name__.lower()

    @abstractmethod
    def _blur(self, *, rows: int, error: float) -> float:
        """Return the largest error of a count."""

    @abstractmethod
    def steps(self, rows: Labels) -> Steps:
        """Return the queries, asking for ``rows`` in their order.

        Examples
        --------
        >>> next(Accuracy().steps(np.arange(2))).predictions
        array([0, 0])
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class F1(_CountMetric):
    """``sklearn.metrics.f1_score`` of two classes: 2 TP / (|S| + P) for a submission that is 1 on S.

    Examples
    --------
    >>> round(F1().score([1, 1, 0], [1, 0, 0]), 6)
    0.666667
    """

    def __post_init__(self) -> None:
        two_classes(self.classes, metric="f1 (the micro average of more classes is the accuracy)")

    def score(self, predictions: ArrayLike, labels: ArrayLike) -> float:
        """Return the score as scikit-learn computes it, 0 where nothing is positive.

        Examples
        --------
        >>> F1().score([0, 0], [1, 1])
        0.0
        """
        return float(f1_score(labels, predictions, zero_division=0.0))

    def _blur(self, *, rows: int, error: float) -> float:
        return 2 * rows * error  # of P, read from 2 P/(N + P); a true positive count is blurred less

    def steps(self, rows: Labels) -> Steps:
        """Return the queries: P from all rows, then TP = score (|S| + P)/2 of each subset.

        Examples
        --------
        >>> next(F1().steps(np.arange(3))).predictions
        array([1, 1, 1])
        """
        labels = np.full(len(rows), -1, dtype=np.int64)
        score = yield Query(np.ones(len(rows), dtype=np.int64), labels.copy())
        positives = _whole(score * len(rows) / (2 - score))
        for matrix, block in _blocks(rows, 2):
            totals = []
            for x in range(matrix.queries):
                chosen = block[matrix.weights(x) == 1]
                score = yield Query(_marked(len(rows), chosen), labels.copy())
                totals.append(_whole(score * (len(chosen) + positives) / 2))
            labels[block] = _decode(matrix, totals)
        return labels


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy(_CountMetric):
    """``sklearn.metrics.accuracy_score``: the share of rows predicted right.

    Two classes: a submission that is 1 on S is right on 2 ones(S) + zeros - |S| rows. More classes: class 1
    against class 0 first, where a row counts -1, 0 or 1; then each next class against class 0, which the rows
    still unknown are known not to be.

    Examples
    --------
    >>> Accuracy(classes=3).score([0, 1, 2, 0], [0, 1, 1, 1])
    0.5
    """

    def __post_init__(self) -> None:
        check_count(self.classes, name="classes", least=2)

    def score(self, predictions: ArrayLike, labels: ArrayLike) -> float:
        """Return the score as scikit-learn computes it.

        Examples
        --------
        >>> Accuracy().score([0, 1], [0, 1])
        1.0
        """
        return float(accuracy_score(labels, predictions))

    def _blur(self, *, rows: int, error: float) -> float:
        # With two classes the parity of the number right is known.
        return rows * error / 2 if self.classes == 2 else rows * error

    def steps(self, rows: Labels) -> Steps:
        """Return the queries: the zeros first, then one detecting matrix for each class but the last.

        Examples
        --------
        >>> next(Accuracy().steps(np.arange(3))).predictions
        array([0, 0, 0])
        """
        labels = np.full(len(rows), -1, dtype=np.int64)
        score = yield Query(np.zeros(len(rows), dtype=np.int64), labels.copy())
        zeros = _whole(score * len(rows))
        yield from self._first_class(rows, zeros, labels)
        for label in range(2, self.classes - 1):
            yield from self._next_class(rows[labels[rows] < 0], label, labels)
        labels[labels < 0] = self.classes - 1
        return labels

    def _first_class(self, rows: Labels, zeros: int, labels: Labels) -> Steps:
        """Tell class 1 from class 0: right answers gain 1, 0 or -1 a chosen row; with two classes never 0."""
        radix = min(3, self.classes)
        for matrix, block in _blocks(rows, radix):
            totals = []
            for x in range(matrix.queries):
                chosen = block[matrix.weights(x) == 1]
                score = yield Query(_marked(len(rows), chosen), labels.copy())
                gained = score * len(rows) - zeros + len(chosen)
                totals.append(_whole(gained * (radix - 1) / 2))
            digits = _decode(matrix, totals)
            labels[block[digits == 0]] = 0
            labels[block[digits == radix - 1]] = 1
        return labels

    def _next_class(self, unknown: Labels, label: int, labels: Labels) -> Steps:
        """Tell one more class: rows not chosen are predicted 0, which they are known not to be."""
        for matrix, block in _blocks(unknown, 2):
            right = labels >= 0
            totals = []
            for x in range(matrix.queries):
                predictions = np.where(right, labels, 0)
                predictions[block[matrix.weights(x) == 1]] = label
                score = yield Query(predictions, labels.copy())
                totals.append(_whole(score * len(labels) - np.count_nonzero(right)))
            labels[block[_decode(matrix, totals) == 1]] = label
        return labels


def _whole(value: float) -> int:
    if not -0.5 <= value < 2**53:
        raise InconsistentAnswer
    return round(value)


def _marked(rows: int, chosen: Labels) -> Labels:
    predictions = np.zeros(rows, dtype=np.int64)
    predictions[chosen] = 1
    return predictions


def _decode(matrix: DetectingMatrix, totals: list[int]) -> Labels:
    try:
        return matrix.decode(totals)
    except InvalidInput:
        raise InconsistentAnswer from None


def _blocks(rows: Labels, radix: int) -> Iterator[tuple[DetectingMatrix, Labels]]:
    start = 0
    for matrix in detecting_matrices(len(rows), low=0, high=1, radix=radix):
        yield matrix, rows[start : start + matrix.labels]
        start += matrix.labels
