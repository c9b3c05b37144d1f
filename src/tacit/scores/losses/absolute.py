"""The absolute error of 0/1 labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.scores.losses.base import InvertibleLoss
from tacit.scores.losses.precision import Numbers, Precision
from tacit.scores.losses.squared import into_unit_interval

__all__ = ["AbsoluteError"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsoluteError(InvertibleLoss):
    """The loss |y - p| of 0/1 labels, what ``sklearn.metrics.mean_absolute_error`` averages.

    l(1) - l(0) = 1 - 2 p for p in [0, 1].
    """

    def __post_init__(self) -> None:
        self._check_binary(use="SquaredError")

    def _range(self, _: Precision) -> float:
        return 1.0

    def _invert(self, offsets: Numbers, precision: Precision) -> Numbers:
        p = (precision.array(1) - offsets[:, 1]) / precision.array(2)
        p = into_unit_interval(p, loss=self, precision=precision)
        return np.stack([precision.array(1) - p, p], axis=1)

    def _losses(self, predictions: Numbers, precision: Precision) -> Numbers:
        return np.stack([np.abs(predictions), np.abs(precision.array(1) - predictions)], axis=1)
