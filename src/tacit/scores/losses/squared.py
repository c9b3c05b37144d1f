"""Quadratic losses: the Brier score and the Mahalanobis divergence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.privacy.errors import InvalidInput
from tacit.scores.losses.base import Loss
from tacit.scores.losses.clip import probability_table
from tacit.scores.losses.precision import Numbers, Precision

__all__ = ["Mahalanobis", "SquaredError", "into_unit_interval"]

_SLACK = 1e-9  # a probability this little outside [0, 1] is rounding, not a wrong plan


@dataclass(frozen=True, slots=True, kw_only=True)
class SquaredError(Loss):
    """Squared Euclidean loss, the Brier score of ``sklearn.metrics.brier_score_loss``.

    Two classes: l(y) = (y - t)^2, so a = l(1) - l(0) = 1 - 2 t and R = 1. K > 2 classes: l(y) =
    sum_k ([y = k] - p_k)^2, so l(y) - l(0) = 2 (p_0 - p_y), R = 2 and a step is at most 4/(K (K - 1)).

    References
    ----------
    Aggarwal et al. (2021), equation (10).

    Examples
    --------
    >>> SquaredError().row_losses([0.25])
    array([[0.0625, 0.5625]])
    >>> SquaredError(classes=3).prediction_for([0.5])
    array([[0.58333333, 0.33333333, 0.08333333]])
    """

    def _range(self, _: Precision) -> float:
        return 1.0 if self.classes == 2 else 2.0

    def _step(self, _: Precision) -> float:
        return 1.0 if self.classes == 2 else 4 / (self.classes * (self.classes - 1))

    def _invert(self, offsets: Numbers, precision: Precision) -> Numbers:
        classes, two = precision.array(self.classes), precision.array(2)
        centred = offsets.sum(axis=1, keepdims=True) / classes - offsets
        p = precision.array(1) / classes + (centred if self.classes == 2 else centred / two)
        return into_unit_interval(p, loss=self, precision=precision)

    def _losses(self, predictions: Numbers, precision: Precision) -> Numbers:
        p = probability_table(predictions, classes=self.classes, precision=precision)
        truths = precision.array(np.eye(self.classes))
        # One column a candidate label, each summed as scikit-learn sums it.
        losses = np.stack([((truth - p) ** 2).sum(axis=1) for truth in truths], axis=1)
        return losses / precision.array(2) if self.classes == 2 else losses


@dataclass(frozen=True, slots=True, kw_only=True)
class Mahalanobis(Loss):
    """Mahalanobis loss (e - q)' A (e - q), e the one-hot label and q = (t, 1 - t): alpha (y - t)^2.

    alpha = a + d - b - c for A = [[a, b], [c, d]]; a difference is alpha (1 - 2 t), and R = alpha.

    Parameters
    ----------
    matrix
        A, positive definite.
    halved
        Whether the factor 1/2 of the divergence is kept; the paper's loss drops it.

    References
    ----------
    Aggarwal et al. (2021), Theorem 8, false as printed: theta = (0.2, 0.2) gives labels (0, 1) and (1, 0)
    the same loss.

    Examples
    --------
    >>> loss = Mahalanobis(matrix=((1.0, 0.0), (0.0, 1.0)))
    >>> loss.difference_range()
    2.0
    >>> loss.score([0, 1], [0.2, 0.2]) == loss.score([1, 0], [0.2, 0.2])
    True
    """

    matrix: tuple[tuple[float, float], tuple[float, float]]
    halved: bool = False

    def __post_init__(self) -> None:
        self._check_binary(use="SquaredError")
        given = np.asarray(self.matrix, dtype=np.float64)
        if given.shape != (2, 2) or not np.all(np.linalg.eigvalsh(given + given.T) > 0):
            raise InvalidInput(f"matrix must be a positive definite 2 x 2 matrix, got {self.matrix!r}")
        object.__setattr__(self, "matrix", tuple(tuple(row) for row in given.tolist()))

    @property
    def weight(self) -> float:
        """The factor alpha = a + d - b - c, or half of it; > 0 for every positive definite A."""
        (a, b), (c, d) = self.matrix
        return (a + d - (b + c)) / (2 if self.halved else 1)

    def _range(self, _: Precision) -> float:
        return self.weight

    def _invert(self, offsets: Numbers, precision: Precision) -> Numbers:
        one, two = precision.array([1, 2])
        (a, b), (c, d) = precision.array(self.matrix)
        weight = (a + d - (b + c)) / (two if self.halved else one)
        t = (one - offsets[:, 1] / weight) / two
        t = into_unit_interval(t, loss=self, precision=precision)
        return np.stack([one - t, t], axis=1)

    def _losses(self, predictions: Numbers, precision: Precision) -> Numbers:
        t = probability_table(predictions, classes=2, precision=precision)[:, 1]
        (a, b), (c, d) = precision.array(self.matrix)
        columns = []
        for label in precision.array([0, 1]):
            first = label - t
            second = -first
            columns.append(a * first * first + (b + c) * first * second + d * second * second)
        losses = np.stack(columns, axis=1)
        return losses / precision.array(2) if self.halved else losses


def into_unit_interval(p: Numbers, *, loss: Loss, precision: Precision) -> Numbers:
    """Return probabilities with rounding beyond 0 and 1 removed, or raise if more than rounding is.

    Examples
    --------
    >>> from tacit.scores.losses import FLOAT64
    >>> into_unit_interval(np.array([-1e-17]), loss=SquaredError(), precision=FLOAT64)
    array([0.])
    """
    zero, one = precision.array([0, 1])
    if p.size and (p.min() < -_SLACK or p.max() > 1 + _SLACK):
        raise InvalidInput(
            f"differences must be within {loss.difference_range(precision=precision):.6g} for {loss} "
            f"(steps within {loss.step_range(precision=precision):.6g}), got some that need a probability "
            "outside [0, 1]; ask for fewer labels in this query"
        )
    bounded: Numbers = np.minimum(np.maximum(p, zero), one)
    return bounded
