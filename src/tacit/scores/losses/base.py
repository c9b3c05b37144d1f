"""What a loss is to an attacker: a table of values, one for each row and candidate label, that the host adds up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count
from tacit.scores.losses.precision import FLOAT64, Number, Numbers, NumberSystem

__all__ = ["InvertibleLoss", "LossReduction", "check_labels", "offsets_of"]


class LossReduction(Enum):
    """How the host turns row losses into one score."""

    MEAN = "mean"
    SUM = "sum"


@dataclass(frozen=True, slots=True, kw_only=True)
class InvertibleLoss(ABC):
    """A loss that is a sum over rows of l(prediction row, label), with the host's clipping and reduction.

    Predictions are one number per row (of class 1) if ``columns`` is 1, and ``classes`` numbers per row otherwise.
    """

    graded: ClassVar[bool] = True
    """Whether a row's loss difference can be chosen freely within the range."""

    classes: int = 2
    reduction: LossReduction = LossReduction.MEAN

    def __post_init__(self) -> None:
        check_count(self.classes, name="classes", least=2)
        if not isinstance(self.reduction, LossReduction):
            raise InvalidInput(
                f"must be LossReduction.MEAN or LossReduction.SUM, got {self.reduction!r}", field="reduction"
            )

    @property
    def columns(self) -> int:
        """Numbers in a prediction row: 1 for a binary loss on class 1's value, else the number of classes."""
        return 1 if self.classes == 2 else self.classes

    def row_losses(self, predictions: ArrayLike, *, precision: NumberSystem = FLOAT64) -> Numbers:
        """Return l(prediction row, label) for every row and label, clipped as the host does: (rows, classes)."""
        with precision.active():
            given = precision.array(predictions)
            if given.ndim not in (1, 2) or given.shape[0] == 0:
                raise InvalidInput(
                    f"must have at least one row of numbers, got shape {given.shape}", field="predictions"
                )
            return self._losses(given, precision)

    def score(self, labels: ArrayLike, predictions: ArrayLike, *, precision: NumberSystem = FLOAT64) -> Number:
        """Return the score as the host computes it."""
        table = self.row_losses(predictions, precision=precision)
        truth = check_labels(labels, classes=self.classes, rows=len(table))
        with precision.active():
            return self._reduce(table[np.arange(len(table)), truth], precision)

    def neutral(self, rows: int, *, precision: NumberSystem = FLOAT64) -> Numbers:
        """Return predictions of 1/K: rows whose loss does not depend on their label."""
        return self.prediction_for(np.zeros(rows), precision=precision)

    def difference_range(self, *, precision: NumberSystem = FLOAT64) -> float:
        """Return R, the largest loss difference between two labels of one row after clipping; may be infinite."""
        return self._range(precision)

    def step_range(self, *, precision: NumberSystem = FLOAT64) -> float:
        """Return the largest s for which a row with losses constant + s y, y = 0..K-1, exists."""
        return self._step(precision)

    def prediction_for(self, differences: ArrayLike, *, precision: NumberSystem = FLOAT64) -> Numbers:
        """Return predictions whose rows have the wanted loss differences.

        Parameters
        ----------
        differences
            (rows,): l(y) - l(0) = a y for every label y. (rows, classes): l(y) - l(0) = d[y] - d[0].
            Positive a keeps class 1's probability small, where floats are finest.

        Raises
        ------
        InvalidInput
            If a difference is out of the loss's range.
        """
        with precision.active():
            offsets = offsets_of(differences, classes=self.classes, precision=precision)
            rows = self._invert(offsets, precision)
            return rows[:, 1] if self.columns == 1 else rows

    @abstractmethod
    def _losses(self, predictions: Numbers, precision: NumberSystem) -> Numbers:
        """Return the loss of every row and label."""

    @abstractmethod
    def _range(self, precision: NumberSystem) -> float:
        """Return the largest difference of one row."""

    @abstractmethod
    def _invert(self, offsets: Numbers, precision: NumberSystem) -> Numbers:
        """Return (rows, classes) predictions whose losses are the offsets plus a constant a row."""

    def _check_binary(self, *, use: str) -> None:
        InvertibleLoss.__post_init__(self)
        if self.classes != 2:
            name = type(self).__name__
            raise InvalidInput(f"must be 2 for {name}, got {self.classes!r}; use {use}", field="classes")

    def _step(self, precision: NumberSystem) -> float:
        return self._range(precision) / (self.classes - 1)

    def _reduce(self, losses: Numbers, precision: NumberSystem) -> Number:
        if losses.dtype != object:  # NumPy's pairwise sum, as the real scorers do
            return float(losses.mean() if self.reduction is LossReduction.MEAN else losses.sum())
        total = losses.sum()
        return total / precision.array(len(losses))[()] if self.reduction is LossReduction.MEAN else total


def check_labels(labels: ArrayLike, *, classes: int, rows: int | None = None) -> NDArray[np.int64]:
    """Return labels as integers, or raise without revealing one unless they are in 0..classes-1, one for each row."""
    given = np.asarray(labels)
    if given.ndim != 1 or given.size == 0:
        raise InvalidInput(f"must be a non-empty list of one label per row, got shape {given.shape}", field="labels")
    if rows is not None and len(given) != rows:
        raise InvalidInput(f"must be one for each of the {rows} prediction rows, got {len(given)}", field="labels")
    good = np.isin(given, np.arange(classes))
    if not good.all():
        raise InvalidInput(
            f"must be integers in 0..{classes - 1}, the one at row {int(np.argmin(good))} is not", field="labels"
        )
    return given.astype(np.int64)


def offsets_of(differences: ArrayLike, *, classes: int, precision: NumberSystem) -> Numbers:
    """Return wanted losses up to a constant, (rows, classes), the first column 0."""
    given = precision.array(differences)
    if given.ndim == 1:
        return given[:, None] * precision.array(np.arange(classes))
    if given.ndim != 2 or given.shape[1] != classes:
        raise InvalidInput(f"must have shape (rows,) or (rows, {classes}), got {given.shape}", field="differences")
    return given - given[:, :1]
