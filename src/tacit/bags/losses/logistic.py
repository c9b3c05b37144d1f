"""The log loss of a 0/1 label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.bags.losses.semilinear import LEAST, Floats, SemilinearLoss, as_labels, as_predictions, refuse
from tacit.data.queries import SqlColumn

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["LogisticLoss"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogisticLoss(SemilinearLoss):
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
    of_classes: ClassVar[bool] = True
    for_other_labels: ClassVar[str] = "must be squared, with lower and upper, for other numbers than 0 and 1"
    targets: ClassVar[int] = 1
    l1: ClassVar[float] = 1.0
    l2: ClassVar[float] = 1.0

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        return np.zeros(1), np.ones(1)

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

    def potential(self, f: ArrayLike, /) -> Floats:
        return np.asarray(np.logaddexp(0.0, as_predictions(f, 1))[:, 0])

    def tensor_potential(self, f: Tensor, /) -> Tensor:
        return f.logaddexp(f.new_zeros(()))[:, 0]

    def mean(self, f: ArrayLike, /) -> Floats:
        from scipy.special import expit

        return np.asarray(expit(as_predictions(f, 1)))

    def curvature(self, f: ArrayLike, /) -> Floats:
        p = self.mean(f)
        return np.asarray(p * (1 - p))

    def link(self, mean: ArrayLike, /) -> Floats:
        p = np.clip(as_predictions(mean, 1), LEAST, 1 - LEAST)
        return np.asarray(np.log(p) - np.log1p(-p))

    def value(self, f: ArrayLike, labels: ArrayLike, /) -> Floats:
        # log(1 + e^-+f): the difference b(f) - y f would lose the digits of a small loss
        return np.asarray(np.logaddexp(0.0, as_predictions(f, 1) * (1 - 2 * self.statistic(labels)))[:, 0])
