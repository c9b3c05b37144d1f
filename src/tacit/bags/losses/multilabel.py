"""The log losses of several 0/1 labels of one row, added up."""

from __future__ import annotations

import functools
import math
import operator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from ibis.expr.types import ArrayValue, BooleanValue, NumericValue, Value
from numpy.typing import ArrayLike
from scipy.special import expit

from tacit.bags.losses.checks import LEAST, Floats, as_predictions
from tacit.privacy.errors import InvalidInput

__all__ = ["MultiLabel"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiLabel:
    """The sum over K labels of a row of their log losses: T(y) = y in {0, 1}^K, labels in an array column.

    With 0/1 predictions the risk that goes with it is the expected Hamming distance. Neighbours differ in all K
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

    def __post_init__(self) -> None:
        if not isinstance(self.labels, int) or self.labels < 1:
            raise InvalidInput(f"labels must be a whole number >= 1, got {self.labels!r}")

    @property
    def targets(self) -> int:
        """See :attr:`SemilinearLoss.targets`."""
        return self.labels

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """See :attr:`SemilinearLoss.bounds`."""
        return np.zeros(self.labels), np.ones(self.labels)

    @property
    def l1(self) -> float:
        """See :attr:`SemilinearLoss.l1`."""
        return float(self.labels)

    @property
    def l2(self) -> float:
        """See :attr:`SemilinearLoss.l2`."""
        return math.sqrt(self.labels)

    def statistic(self, labels: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.statistic`."""
        y = np.asarray(labels, dtype=np.float64)
        if y.ndim != 2 or y.shape[1] != self.labels:
            raise InvalidInput(f"labels must have shape (rows, {self.labels}), got {y.shape}")
        wrong = ~((y == 0) | (y == 1)).all(axis=1)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InvalidInput(f"multilabels must be 0 or 1, got {y[row].tolist()} at row {row}: recode the labels")
        return y

    def statistic_expressions(self, column: Value, /) -> list[NumericValue]:
        """See :meth:`SemilinearLoss.statistic_expressions`; the column holds arrays."""
        array = _array(column)
        return [array[k].cast("float64") for k in range(self.labels)]

    def violation(self, column: Value, /) -> BooleanValue:
        """See :meth:`SemilinearLoss.violation`."""
        array = _array(column)
        good = [(array[k] == 0) | (array[k] == 1) for k in range(self.labels)]
        fits: BooleanValue = functools.reduce(operator.and_, good, array.length() == self.labels)
        flagged: BooleanValue = ~fits.fill_null(False)
        return flagged

    def potential(self, f: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.potential`."""
        return np.asarray(np.logaddexp(0.0, as_predictions(f, self.labels)).sum(axis=1))

    def mean(self, f: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.mean`."""
        return np.asarray(expit(as_predictions(f, self.labels)))

    def curvature(self, f: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.curvature`."""
        p = self.mean(f)
        return np.asarray(p * (1 - p))

    def link(self, mean: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.link`."""
        p = np.clip(as_predictions(mean, self.labels), LEAST, 1 - LEAST)
        return np.asarray(np.log(p) - np.log1p(-p))

    def value(self, f: ArrayLike, labels: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.value`."""
        signed = as_predictions(f, self.labels) * (1 - 2 * self.statistic(labels))
        return np.asarray(np.logaddexp(0.0, signed).sum(axis=1))

    def describe(self) -> dict[str, Any]:
        """See :meth:`SemilinearLoss.describe`."""
        return {"name": self.name, "labels": self.labels}


def _array(column: Value) -> ArrayValue:
    if not isinstance(column, ArrayValue):
        raise InvalidInput(f"the label column of the multilabel loss must hold arrays, got {column.type()}")
    return column
