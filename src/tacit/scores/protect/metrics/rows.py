"""Metrics of classes that are a mean of one capped term a row: a label moves one term, by at most its range."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count
from tacit.scores import attack
from tacit.scores.losses import CrossEntropy, Loss, ProbabilityFloor, SquaredError
from tacit.scores.protect.metrics.base import (
    Metric,
    Numbers,
    check_classes,
    class_labels,
    finite,
    one_column,
    without_tiny,
)

__all__ = ["Accuracy", "Brier", "LogLoss", "RowMetric"]

_SUM = (1e-9, 0.05)  # a row of probabilities this far from 1 is taken as it is, and is renormalised


@dataclass(frozen=True, slots=True, kw_only=True)
class RowMetric(Metric):
    """One term a row: the mean moves by (upper - lower)/rows when one label changes.

    Examples
    --------
    >>> isinstance(Accuracy(), RowMetric)
    True
    """

    def sensitivity(self, rows: int) -> float:
        """Return (upper - lower)/rows: one label is in one term, whatever the predictions are.

        Examples
        --------
        >>> from tacit.scores.protect import Accuracy
        >>> Accuracy().sensitivity(1000)
        0.001
        """
        low, high = self.term_bounds
        return (high - low) / check_count(rows, name="rows")


@dataclass(frozen=True, slots=True, kw_only=True)
class _TableMetric(RowMetric):
    """A loss of :mod:`tacit.scores.losses`: a table of one value for each row and candidate label."""

    classes: int = 2

    def __post_init__(self) -> None:
        check_classes(self.classes)

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """The loss with the host's clipping."""

    def check(self, predictions: ArrayLike, *, rows: int) -> Numbers:
        """Return probabilities: (rows,) of class 1, or (rows, classes) whose rows sum to 1 within 0.05.

        Rows whose sum is off by more than 1e-9 are divided by it: rounded submissions are welcome, and a row of
        ones buys nothing.

        Examples
        --------
        >>> from tacit.scores.protect import LogLoss
        >>> LogLoss(classes=3).check([[0.33, 0.33, 0.33]], rows=1).round(4)
        array([[0.3333, 0.3333, 0.3333]])
        """
        two = self.classes == 2 and one_column(predictions)
        given = finite(predictions, rows=rows, columns=None if two else self.classes)
        outside = (given < 0) | (given > 1)
        if outside.any():
            row = int(np.argwhere(outside)[0][0])
            raise InvalidInput(
                f"predictions must be probabilities in [0, 1], got {given[outside].flat[0]} at row {row}"
            )
        given = without_tiny(given)
        return given if two else _normalised(given)

    def check_labels(self, labels: ArrayLike) -> NDArray[Any]:
        """Return labels in 0..classes-1.

        Examples
        --------
        >>> from tacit.scores.protect import Brier
        >>> Brier().check_labels([1, 0])
        array([1, 0])
        """
        return class_labels(labels, classes=self.classes)

    def attacked_as(self) -> Loss | attack.Metric | None:
        """Return the loss.

        Examples
        --------
        >>> from tacit.scores.protect import Brier
        >>> type(Brier().attacked_as()).__name__
        'SquaredError'
        """
        return self.loss

    def to_json(self) -> dict[str, Any]:
        """Return name and classes.

        Examples
        --------
        >>> from tacit.scores.protect import Brier
        >>> Brier(classes=3).to_json()
        {'metric': 'brier', 'classes': 3}
        """
        return {"metric": self.name, "classes": self.classes}

    def _terms(self, labels: NDArray[Any], predictions: Numbers) -> Numbers:
        table = np.asarray(self.loss.row_losses(predictions), dtype=np.float64)
        low, high = self.term_bounds
        return np.clip(np.take_along_axis(table, labels[:, None], axis=1)[:, 0], low, high)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLoss(_TableMetric):
    """The log loss of probabilities kept within [floor, 1 - floor]; a row costs at most -ln floor.

    Sensitivity: ln((1 - floor)/floor)/rows. A small floor is the attacker's friend: with 1e-15 one row may weigh 34.5
    nats, with 0.01 it weighs 4.6.

    Parameters
    ----------
    floor
        Least probability that keeps its own loss, in (0, 1/classes).

    References
    ----------
    Aggarwal et al. (2021), equation (2).

    Examples
    --------
    >>> metric = LogLoss(floor=0.01)
    >>> round(metric.score([1, 0], [0.9, 0.0]), 6), round(metric.sensitivity(1000), 6)
    (0.057705, 0.004595)
    """

    name = "log_loss"

    floor: float = 0.01

    def __post_init__(self) -> None:
        check_classes(self.classes)
        if not 0 < self.floor < 1 / self.classes:
            raise InvalidInput(f"floor must be in (0, 1/{self.classes}), got {self.floor!r}")

    @property
    def loss(self) -> Loss:
        """The clipped cross-entropy.

        Examples
        --------
        >>> round(LogLoss(floor=0.01).loss.difference_range(), 4)
        4.5951
        """
        return CrossEntropy(classes=self.classes, clip=ProbabilityFloor(self.floor))

    @property
    def term_bounds(self) -> tuple[float, float]:
        """-ln(1 - floor) and -ln floor.

        Examples
        --------
        >>> round(LogLoss(floor=0.1).term_bounds[1], 4)
        2.3026
        """
        return -math.log1p(-self.floor), -math.log(self.floor)

    def to_json(self) -> dict[str, Any]:
        """Return name, classes and floor.

        Examples
        --------
        >>> LogLoss().to_json()
        {'metric': 'log_loss', 'classes': 2, 'floor': 0.01}
        """
        return {"metric": self.name, "classes": self.classes, "floor": self.floor}


@dataclass(frozen=True, slots=True, kw_only=True)
class Brier(_TableMetric):
    """The Brier score: mean squared distance to the label, in [0, 1] for two classes and [0, 2] for more.

    Sensitivity: 1/rows for two classes, 2/rows for more.

    Examples
    --------
    >>> Brier().score([1, 0], [0.5, 0.0])
    0.125
    >>> Brier(classes=3).term_bounds
    (0.0, 2.0)
    """

    name = "brier"

    @property
    def loss(self) -> Loss:
        """The squared error.

        Examples
        --------
        >>> Brier().loss.difference_range()
        1.0
        """
        return SquaredError(classes=self.classes)

    @property
    def term_bounds(self) -> tuple[float, float]:
        """0 and 1, or 2 for more than two classes.

        Examples
        --------
        >>> Brier().term_bounds
        (0.0, 1.0)
        """
        return 0.0, 1.0 if self.classes == 2 else 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy(RowMetric):
    """The share of rows predicted right; predictions are classes 0..classes-1. Sensitivity: 1/rows.

    Examples
    --------
    >>> Accuracy(classes=3).score([0, 1, 2, 2], [0, 1, 2, 0])
    0.75
    """

    name = "accuracy"
    lower_is_better = False

    classes: int = 2

    def __post_init__(self) -> None:
        check_classes(self.classes)

    @property
    def term_bounds(self) -> tuple[float, float]:
        """0 and 1.

        Examples
        --------
        >>> Accuracy().term_bounds
        (0.0, 1.0)
        """
        return 0.0, 1.0

    def check(self, predictions: ArrayLike, *, rows: int) -> Numbers:
        """Return predicted classes.

        Examples
        --------
        >>> Accuracy().check([0, 1], rows=2)
        array([0., 1.])
        """
        return class_predictions(predictions, rows=rows, classes=self.classes)

    def check_labels(self, labels: ArrayLike) -> NDArray[Any]:
        """Return labels in 0..classes-1.

        Examples
        --------
        >>> Accuracy().check_labels([1, 0])
        array([1, 0])
        """
        return class_labels(labels, classes=self.classes)

    def attacked_as(self) -> Loss | attack.Metric | None:
        """Return the accuracy that :mod:`tacit.scores.attack` weighs coins with.

        Examples
        --------
        >>> Accuracy().attacked_as()
        Accuracy(classes=2)
        """
        return attack.Accuracy(classes=self.classes)

    def to_json(self) -> dict[str, Any]:
        """Return name and classes.

        Examples
        --------
        >>> Accuracy().to_json()
        {'metric': 'accuracy', 'classes': 2}
        """
        return {"metric": self.name, "classes": self.classes}

    def _terms(self, labels: NDArray[Any], predictions: Numbers) -> Numbers:
        return np.asarray(labels == predictions, dtype=np.float64)


def class_predictions(predictions: ArrayLike, *, rows: int, classes: int) -> Numbers:
    """Return predicted classes 0..classes-1, or raise.

    Examples
    --------
    >>> class_predictions([0.5], rows=1, classes=2)
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: predictions must be classes in 0..1, got 0.5 at row 0
    """
    given = finite(predictions, rows=rows)
    good = np.isin(given, np.arange(classes))
    if not good.all():
        row = int(np.argmin(good))
        raise InvalidInput(f"predictions must be classes in 0..{classes - 1}, got {given[row]} at row {row}")
    return given


def _normalised(p: Numbers) -> Numbers:
    totals = p.sum(axis=1)
    off = np.abs(totals - 1)
    if off.max() > _SUM[1]:
        row = int(off.argmax())
        raise InvalidInput(f"predictions must sum to 1 in each row, got {totals[row]:.6g} at row {row}")
    return np.where((off > _SUM[0])[:, None], p / totals[:, None], p)
