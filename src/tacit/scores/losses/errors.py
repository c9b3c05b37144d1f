"""The squared error, which is the loss of the Brier score, and the absolute error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.privacy.errors import InvalidInput
from tacit.scores.losses.base import InvertibleLoss
from tacit.scores.losses.clip import probability_table
from tacit.scores.losses.precision import Numbers, NumberSystem

__all__ = ["AbsoluteError", "SquaredError", "into_unit_interval"]

_SLACK = 1e-9  # a probability this little outside [0, 1] is rounding, not a wrong plan


@dataclass(frozen=True, slots=True, kw_only=True)
class SquaredError(InvertibleLoss):
    """Squared Euclidean loss, the Brier score of ``sklearn.metrics.brier_score_loss``.

    Two classes: l(y) = (y - t)^2, so a = l(1) - l(0) = 1 - 2 t and R = 1. K > 2 classes: l(y) =
    sum_k ([y = k] - p_k)^2, so l(y) - l(0) = 2 (p_0 - p_y), R = 2 and a step is at most 4/(K (K - 1)).

    References
    ----------
    Aggarwal et al. (2021), equation (10).
    """

    def _range(self, _: NumberSystem) -> float:
        return 1.0 if self.classes == 2 else 2.0

    def _step(self, _: NumberSystem) -> float:
        return 1.0 if self.classes == 2 else 4 / (self.classes * (self.classes - 1))

    def _invert(self, offsets: Numbers, precision: NumberSystem) -> Numbers:
        classes, two = precision.array(self.classes), precision.array(2)
        centered = offsets.sum(axis=1, keepdims=True) / classes - offsets
        p = precision.array(1) / classes + (centered if self.classes == 2 else centered / two)
        return into_unit_interval(p, loss=self, precision=precision)

    def _losses(self, predictions: Numbers, precision: NumberSystem) -> Numbers:
        p = probability_table(predictions, classes=self.classes, precision=precision)
        truths = precision.array(np.eye(self.classes))
        # One column a candidate label, each summed as scikit-learn sums it.
        losses = np.stack([((truth - p) ** 2).sum(axis=1) for truth in truths], axis=1)
        return losses / precision.array(2) if self.classes == 2 else losses


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsoluteError(InvertibleLoss):
    """The loss |y - p| of 0/1 labels, what ``sklearn.metrics.mean_absolute_error`` averages.

    l(1) - l(0) = 1 - 2 p for p in [0, 1].
    """

    def __post_init__(self) -> None:
        self._check_binary(use="SquaredError")

    def _range(self, _: NumberSystem) -> float:
        return 1.0

    def _invert(self, offsets: Numbers, precision: NumberSystem) -> Numbers:
        p = (precision.array(1) - offsets[:, 1]) / precision.array(2)
        p = into_unit_interval(p, loss=self, precision=precision)
        return np.stack([precision.array(1) - p, p], axis=1)

    def _losses(self, predictions: Numbers, precision: NumberSystem) -> Numbers:
        return np.stack([np.abs(predictions), np.abs(precision.array(1) - predictions)], axis=1)


def into_unit_interval(p: Numbers, *, loss: InvertibleLoss, precision: NumberSystem) -> Numbers:
    """Return probabilities with rounding beyond 0 and 1 removed, or raise if more than rounding is."""
    zero, one = precision.array([0, 1])
    if p.size and (p.min() < -_SLACK or p.max() > 1 + _SLACK):
        raise InvalidInput(
            f"differences must be within {loss.difference_range(precision=precision):.6g} for {loss} "
            f"(steps within {loss.step_range(precision=precision):.6g}), got some that need a probability "
            "outside [0, 1]; ask for fewer labels in this query"
        )
    bounded: Numbers = np.minimum(np.maximum(p, zero), one)
    return bounded
