"""The log losses of one 0/1 label per row, and of several."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from tacit.bags.losses.checks import LEAST, Floats, as_labels, as_predictions, refuse
from tacit.bags.losses.semilinear import SemilinearLoss
from tacit.data.queries import SqlColumn
from tacit.privacy.errors import InvalidInput

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["LogisticLoss", "MultiLabel"]


class _Logistic(SemilinearLoss):
    """The sum over 0/1 labels of b(f) - y f, with b(f) = log(1 + e^f)."""

    __slots__ = ()

    of_classes: ClassVar[bool] = True

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        return np.zeros(self.targets), np.ones(self.targets)

    def potential(self, f: ArrayLike, /) -> Floats:
        return np.asarray(np.logaddexp(0.0, as_predictions(f, self.targets)).sum(axis=1))

    def tensor_potential(self, f: Tensor, /) -> Tensor:
        return f.logaddexp(f.new_zeros(())).sum(dim=1)

    def predict(self, f: Floats, /) -> NDArray[Any]:
        return (f > 0).astype(np.int64)

    def probabilities(self, f: Floats, /) -> Floats:
        return self.mean(f)

    def mean(self, f: ArrayLike, /) -> Floats:
        return np.asarray(expit(as_predictions(f, self.targets)))

    def curvature(self, f: ArrayLike, /) -> Floats:
        p = self.mean(f)
        return np.asarray(p * (1 - p))

    def link(self, mean: ArrayLike, /) -> Floats:
        p = np.clip(as_predictions(mean, self.targets), LEAST, 1 - LEAST)
        return np.asarray(np.log(p) - np.log1p(-p))

    def value(self, f: ArrayLike, labels: ArrayLike, /) -> Floats:
        # log(1 + e^-+f): the difference b(f) - y f would lose the digits of a small loss
        signed = as_predictions(f, self.targets) * (1 - 2 * self.statistic(labels))
        return np.asarray(np.logaddexp(0.0, signed).sum(axis=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class LogisticLoss(_Logistic):
    """The logistic loss of a 0/1 label: b(f) = log(1 + e^f), T(y) = y, c(y) = 0.

    References
    ----------
    Chen et al. (2023), Section 3.2: cross-entropy over two classes, written with one logit.

    Examples
    --------
    >>> loss = LogisticLoss()
    >>> loss.statistic([0, 1, 1]).sum(), loss.l1
    (np.float64(2.0), 1.0)
    >>> loss.statistic([2])
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: a label of the log loss must be 0 or 1, got 2.0 at row 0: recode the labels
    """

    name: ClassVar[str] = "log"
    targets: ClassVar[int] = 1
    l1: ClassVar[float] = 1.0
    l2: ClassVar[float] = 1.0

    @property
    def class_codes(self) -> NDArray[np.int64]:
        return np.arange(2)

    def label_values(self) -> Floats:
        return np.array([[0.0], [1.0]])

    def predict(self, f: Floats, /) -> NDArray[Any]:
        return (f[:, 0] > 0).astype(np.int64)

    def probabilities(self, f: Floats, /) -> Floats:
        p = self.mean(f)
        return np.hstack([1 - p, p])

    def statistic(self, labels: ArrayLike, /) -> Floats:
        y = as_labels(labels)
        refuse((y != 0) & (y != 1), y, "a label of the log loss must be 0 or 1", "recode the labels")
        return y[:, None]

    def statistic_in_sql(self, column: SqlColumn, /) -> list[str]:
        return [column.number]


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiLabel(_Logistic):
    """The sum over K labels of a row of their log losses: T(y) = y in {0, 1}^K, labels in an array column.

    With 0/1 predictions the risk that goes with it is the expected Hamming distance. Neighbors differ in all K
    labels of one row.

    Parameters
    ----------
    labels
        K >= 1, public.

    References
    ----------
    Chen et al. (2023), Section 4: Y = {0, 1}^K.

    Examples
    --------
    >>> loss = MultiLabel(labels=2)
    >>> loss.statistic([[0, 1], [1, 1]]).sum(axis=0), loss.l1
    (array([1., 2.]), 2.0)
    >>> loss.value(np.zeros((1, 2)), [[0, 1]]).round(6)
    array([1.386294])
    """

    labels: int
    name: ClassVar[str] = "multilabel"
    several: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.labels, int) or self.labels < 1:
            raise InvalidInput(f"must be an integer >= 1, got {self.labels!r}", field="labels")

    @property
    def targets(self) -> int:
        return self.labels

    @property
    def l1(self) -> float:
        return float(self.labels)

    @property
    def l2(self) -> float:
        return math.sqrt(self.labels)

    def statistic(self, labels: ArrayLike, /) -> Floats:
        y = np.asarray(labels, dtype=np.float64)
        if y.ndim != 2 or y.shape[1] != self.labels:
            raise InvalidInput(f"must have shape (rows, {self.labels}), got {y.shape}", field="labels")
        wrong = ~((y == 0) | (y == 1)).all(axis=1)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InvalidInput(f"multilabels must be 0 or 1, got {y[row].tolist()} at row {row}: recode the labels")
        return y

    def statistic_in_sql(self, column: SqlColumn, /) -> list[str]:
        return [f"CAST({column.value}[{k + 1}] AS DOUBLE)" for k in range(self.labels)]

    def violation(self, column: SqlColumn, /) -> str:
        good = [f"{label} IN (0, 1)" for label in self.statistic_in_sql(column)]
        fits = " AND ".join([f"ARRAY_LENGTH({column.value}) = {self.labels}", *good])
        return f"NOT COALESCE({fits}, FALSE)"
