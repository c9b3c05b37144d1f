"""The log loss of a 0/1 label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from ibis.expr.types import BooleanValue, NumericValue, Value
from numpy.typing import ArrayLike
from scipy.special import expit

from tacit.bags.losses.checks import LEAST, Floats, as_labels, as_predictions, missing, number_of, refuse

__all__ = ["LogLoss"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLoss:
    """The logistic loss of a 0/1 label: b(f) = log(1 + e^f), T(y) = y, c(y) = 0.

    References
    ----------
    Chen et al. (2023), Section 3.2: cross-entropy over two classes, written with one logit.

    Examples
    --------
    >>> loss = LogLoss()
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
    def bounds(self) -> tuple[Floats, Floats]:
        """See :attr:`SemilinearLoss.bounds`."""
        return np.zeros(1), np.ones(1)

    def statistic(self, labels: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.statistic`."""
        y = as_labels(labels)
        refuse((y != 0) & (y != 1), y, "a label of the log loss must be 0 or 1", "recode the labels")
        return y[:, None]

    def statistic_expressions(self, column: Value, /) -> list[NumericValue]:
        """See :meth:`SemilinearLoss.statistic_expressions`."""
        return [number_of(column)]

    def violation(self, column: Value, /) -> BooleanValue:
        """See :meth:`SemilinearLoss.violation`."""
        number = number_of(column)
        return missing(column) | ~((number == 0) | (number == 1))

    def potential(self, f: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.potential`."""
        return np.asarray(np.logaddexp(0.0, as_predictions(f, 1))[:, 0])

    def mean(self, f: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.mean`."""
        return np.asarray(expit(as_predictions(f, 1)))

    def curvature(self, f: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.curvature`."""
        p = self.mean(f)
        return np.asarray(p * (1 - p))

    def link(self, mean: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.link`."""
        p = np.clip(as_predictions(mean, 1), LEAST, 1 - LEAST)
        return np.asarray(np.log(p) - np.log1p(-p))

    def value(self, f: ArrayLike, labels: ArrayLike, /) -> Floats:
        """See :meth:`SemilinearLoss.value`."""
        # log(1 + e^-+f): the difference b(f) - y f would lose the digits of a small loss
        signed = as_predictions(f, 1) * (1 - 2 * self.statistic(labels))
        return np.asarray(np.logaddexp(0.0, signed)[:, 0])

    def describe(self) -> dict[str, Any]:
        """See :meth:`SemilinearLoss.describe`."""
        return {"name": self.name}
