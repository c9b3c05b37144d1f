"""The cross-entropy of one label among K."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.bags.losses.semilinear import LEAST, Floats, SemilinearLoss, as_labels, as_predictions, refuse
from tacit.data.queries import SqlColumn, float_literal
from tacit.privacy.errors import InvalidInput

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["CategoricalLoss"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoricalLoss(SemilinearLoss):
    """The cross-entropy of a label in 0..K-1: b(f) = log sum_k e^f_k, T(y) the one-hot row, c(y) = 0.

    Parameters
    ----------
    classes
        K >= 2, public.

    References
    ----------
    Chen et al. (2023), Section 3.2, log loss and cross-entropy loss.
    """

    classes: int
    name: ClassVar[str] = "cross_entropy"
    of_classes: ClassVar[bool] = True
    exclusive: ClassVar[bool] = True
    l1: ClassVar[float] = 2.0
    l2: ClassVar[float] = math.sqrt(2.0)

    def __post_init__(self) -> None:
        if not isinstance(self.classes, int) or self.classes < 2:
            raise InvalidInput(f"must be an integer >= 2, got {self.classes!r}", field="classes")

    @property
    def targets(self) -> int:
        return self.classes

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        return np.zeros(self.classes), np.ones(self.classes)

    @property
    def class_codes(self) -> NDArray[np.int64]:
        return np.arange(self.classes)

    def label_values(self) -> Floats:
        return np.eye(self.classes)

    def predict(self, f: Floats, /) -> NDArray[Any]:
        return np.asarray(f.argmax(axis=1))

    def probabilities(self, f: Floats, /) -> Floats:
        return self.mean(f)

    def statistic(self, labels: ArrayLike, /) -> Floats:
        y = as_labels(labels)
        wrong = (y != np.floor(y)) | (y < 0) | (y >= self.classes)
        rule = f"a label of the cross-entropy over {self.classes} classes must be an integer in 0..{self.classes - 1}"
        refuse(wrong, y, rule, "recode the labels or declare more classes")
        return np.asarray(np.eye(self.classes)[y.astype(np.int64)])

    def statistic_in_sql(self, column: SqlColumn, /) -> list[str]:
        one, none = float_literal(1), float_literal(0)
        return [f"CASE WHEN {column.number} = {k} THEN {one} ELSE {none} END" for k in range(self.classes)]

    def potential(self, f: ArrayLike, /) -> Floats:
        from scipy.special import logsumexp

        return np.asarray(logsumexp(as_predictions(f, self.classes), axis=1))

    def tensor_potential(self, f: Tensor, /) -> Tensor:
        return f.logsumexp(dim=1)

    def chain(self, f: Floats, slope: Floats, /) -> Floats:
        p = self.mean(f)
        return np.asarray(p * (slope - np.sum(p * slope, axis=1, keepdims=True)))

    def mean(self, f: ArrayLike, /) -> Floats:
        from scipy.special import softmax

        return np.asarray(softmax(as_predictions(f, self.classes), axis=1))

    def curvature(self, f: ArrayLike, /) -> Floats:
        p = self.mean(f)
        return np.asarray(p * (1 - p))

    def link(self, mean: ArrayLike, /) -> Floats:
        return np.log(np.clip(as_predictions(mean, self.classes), LEAST, 1.0))

    def value(self, f: ArrayLike, labels: ArrayLike, /) -> Floats:
        from scipy.special import log_softmax

        return np.asarray(
            -np.sum(log_softmax(as_predictions(f, self.classes), axis=1) * self.statistic(labels), axis=1)
        )
