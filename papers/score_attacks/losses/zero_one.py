"""The 0-1 loss: predictions are labels, and a row tells only whether it is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit.privacy.errors import InvalidInput
from tacit.scores.losses.base import InvertibleLoss
from tacit.scores.losses.precision import Numbers, NumberSystem

__all__ = ["ZeroOne"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroOne(InvertibleLoss):
    """The error rate, 1 - accuracy: l(y) = [prediction != y], predictions in 0..K-1.

    A row has two loss values, 0 and 1, so there is no neutral row and R = 1.

    References
    ----------
    Aggarwal et al. (2021), Theorem 11: no prediction separates two rows or more.

    Examples
    --------
    >>> ZeroOne(classes=3).row_losses([2, 0])
    array([[1., 1., 0.],
           [0., 1., 1.]])
    >>> ZeroOne().score([1, 1, 1], [1, 0, 1])
    0.3333333333333333
    """

    graded: ClassVar[bool] = False

    @property
    def columns(self) -> int:
        """One predicted label a row."""
        return 1

    def _range(self, _: NumberSystem) -> float:
        return 1.0

    def _invert(self, offsets: Numbers, precision: NumberSystem) -> Numbers:
        lowest = offsets - offsets.min(axis=1, keepdims=True)
        best = lowest.argmin(axis=1)
        if not np.array_equal(lowest, precision.array(np.eye(self.classes)[best] == 0)):
            raise InvalidInput(
                "differences must be 1 between one label and all others for ZeroOne, got others: a row that is "
                "predicted says only whether it is right"
            )
        # The base takes column 1 of what an inverse returns.
        return precision.array(np.stack([best, best], axis=1))

    def _losses(self, predictions: Numbers, precision: NumberSystem) -> Numbers:
        if predictions.ndim != 1 or not np.all(np.isin(predictions, np.arange(self.classes))):
            raise InvalidInput(f"predictions must be labels in 0..{self.classes - 1}, one a row")
        return precision.array(predictions[:, None] != np.arange(self.classes)[None, :])
