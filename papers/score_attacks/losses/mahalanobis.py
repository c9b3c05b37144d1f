"""The Mahalanobis divergence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.privacy.errors import InvalidInput
from tacit.scores.losses.base import InvertibleLoss
from tacit.scores.losses.clip import probability_table
from tacit.scores.losses.errors import into_unit_interval
from tacit.scores.losses.precision import Numbers, NumberSystem

__all__ = ["Mahalanobis"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mahalanobis(InvertibleLoss):
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

    def _range(self, _: NumberSystem) -> float:
        return self.weight

    def _invert(self, offsets: Numbers, precision: NumberSystem) -> Numbers:
        one, two = precision.array([1, 2])
        (a, b), (c, d) = precision.array(self.matrix)
        weight = (a + d - (b + c)) / (two if self.halved else one)
        t = (one - offsets[:, 1] / weight) / two
        t = into_unit_interval(t, loss=self, precision=precision)
        return np.stack([one - t, t], axis=1)

    def _losses(self, predictions: Numbers, precision: NumberSystem) -> Numbers:
        t = probability_table(predictions, classes=2, precision=precision)[:, 1]
        (a, b), (c, d) = precision.array(self.matrix)
        columns = []
        for label in precision.array([0, 1]):
            first = label - t
            second = -first
            columns.append(a * first * first + (b + c) * first * second + d * second * second)
        losses = np.stack(columns, axis=1)
        return losses / precision.array(2) if self.halved else losses
