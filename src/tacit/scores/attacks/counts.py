"""Accuracy and F1: every score counts the labels of a chosen subset, a coin weighing."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import numpy as np

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count
from tacit.scores.attacks.answers import HostAnswers
from tacit.scores.attacks.design import Labels, QueryDesign, ScoreQuery, Steps, all_rows
from tacit.scores.attacks.errors import InconsistentAnswer
from tacit.scores.attacks.weighing import DetectingMatrix, ask_matrix, detecting_matrices, matrix_blocks
from tacit.scores.losses.precision import Numbers

__all__ = ["CountDesign", "RightRowsDesign", "TruePositivesDesign"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CountDesign(QueryDesign):
    """Count the positives of chosen subsets with a detecting matrix of entries 0 and 1."""

    metric: ClassVar[str]

    rows: int
    answers: HostAnswers = field(default_factory=HostAnswers)
    classes: int = 2

    def __post_init__(self) -> None:
        check_count(self.rows, name="rows", least=2)
        if (blur := self._blur(self.answers.error(largest=1.0))) >= 0.5:
            raise InvalidInput(
                f"must reveal one label of {self.rows} rows: {self.metric} moves by at least "
                f"{1 / self.rows:.3g} with a label, and {self.answers} blurs a count by {blur:.3g}, which must be "
                "below 1/2",
                field="answers",
            )

    @property
    def queries(self) -> int:
        """One query for the number of zeros or ones, then the matrix; for more classes one per class."""
        later = [(self.rows * (self.classes - label) // self.classes, 2) for label in range(2, self.classes - 1)]
        passes = [(self.rows, min(3, self.classes)), *later]
        return 1 + sum(
            matrix.queries for rows, radix in passes for matrix in detecting_matrices(rows, low=0, high=1, radix=radix)
        )

    @property
    def expected(self) -> bool:
        """With more than two classes later matrices depend on the rows still unknown: planned for equal classes."""
        return self.classes > 2

    @abstractmethod
    def _blur(self, error: float) -> float:
        """Return the largest error of a count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TruePositivesDesign(CountDesign):
    """F1 of two classes: 2 TP / (|S| + P) for a submission that is 1 on S."""

    metric = "f1"

    def _blur(self, error: float) -> float:
        return 2 * self.rows * error  # of P, read from 2 P/(N + P); a true positive count is blurred less

    def steps(self, *, order: Labels | None = None) -> Steps:
        """Return the queries: P from all rows, then TP = score (|S| + P)/2 of each subset."""
        rows = all_rows(order, rows=self.rows)
        labels = np.full(len(rows), -1, dtype=np.int64)
        score = yield ScoreQuery(np.ones(len(rows), dtype=np.int64), labels.copy())
        positives = _whole(score * len(rows) / (2 - score))

        def found(score: float, predictions: Numbers) -> int:
            return _whole(score * (predictions.sum() + positives) / 2)

        for matrix, block in matrix_blocks(rows, low=0, high=1):
            labels[block] = yield from ask_matrix(matrix, partial(_marked, len(rows), block), found, known=labels)
        return labels


@dataclass(frozen=True, slots=True, kw_only=True)
class RightRowsDesign(CountDesign):
    """Accuracy: how many rows are predicted correctly.

    Two classes: a submission that is 1 on S is right on 2 ones(S) + zeros - |S| rows. More classes: class 1
    against class 0 first, where a row counts -1, 0 or 1; then each next class against class 0, which the rows
    still unknown are known not to be.
    """

    metric = "accuracy"

    def _blur(self, error: float) -> float:
        # With two classes the parity of the number right is known.
        return self.rows * error / 2 if self.classes == 2 else self.rows * error

    def steps(self, *, order: Labels | None = None) -> Steps:
        """Return the queries: the zeros first, then one detecting matrix for each class but the last."""
        rows = all_rows(order, rows=self.rows)
        labels = np.full(len(rows), -1, dtype=np.int64)
        score = yield ScoreQuery(np.zeros(len(rows), dtype=np.int64), labels.copy())
        zeros = _whole(score * len(rows))
        yield from self._first_class(rows, zeros, labels)
        for label in range(2, self.classes - 1):
            yield from self._next_class(rows[labels[rows] < 0], label, labels)
        labels[labels < 0] = self.classes - 1
        return labels

    def _first_class(self, rows: Labels, zeros: int, labels: Labels) -> Steps:
        """Distinguish class 1 from class 0: a chosen row adds 1, 0 or -1 correct answers; with two classes never 0."""
        radix = min(3, self.classes)

        def gained(score: float, predictions: Numbers) -> int:
            return _whole((score * len(rows) - zeros + predictions.sum()) * (radix - 1) / 2)

        for matrix, block in matrix_blocks(rows, low=0, high=1, radix=radix):
            digits = yield from ask_matrix(matrix, partial(_marked, len(rows), block), gained, known=labels)
            labels[block[digits == 0]] = 0
            labels[block[digits == radix - 1]] = 1
        return labels

    def _next_class(self, unknown: Labels, label: int, labels: Labels) -> Steps:
        """Find one more class: rows not chosen are predicted 0, which they are known not to be."""
        for matrix, block in matrix_blocks(unknown, low=0, high=1):
            digits = yield from _ask_class(matrix, block, label, labels)
            labels[block[digits == 1]] = label
        return labels


def _ask_class(matrix: DetectingMatrix, block: Labels, label: int, labels: Labels) -> Steps:
    """Ask which rows of a block have a label; known rows are predicted as they are."""
    right, known = np.maximum(labels, 0), np.count_nonzero(labels >= 0)

    def predict(weights: Labels) -> Numbers:
        return right + label * _marked(len(labels), block, weights)

    def found(score: float, _: Numbers) -> int:
        return _whole(score * len(labels) - known)

    return ask_matrix(matrix, predict, found, known=labels)


def _whole(value: float) -> int:
    if not -0.5 <= value < 2**53:
        raise InconsistentAnswer
    return round(value)


def _marked(rows: int, block: Labels, weights: Labels) -> Labels:
    """Return 1 for the chosen rows of a block, and 0 for all others."""
    predictions = np.zeros(rows, dtype=np.int64)
    predictions[block] = weights
    return predictions
