"""Cross-entropy on logits: the sigmoid and the softmax are part of the loss, and nothing is clipped."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tacit.privacy.errors import InvalidInput
from tacit.scores.losses.base import Loss, offsets_of
from tacit.scores.losses.precision import FLOAT64, Numbers, Precision

__all__ = ["SigmoidCrossEntropy", "SoftmaxCrossEntropy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SigmoidCrossEntropy(Loss):
    """Binary cross-entropy of the sigmoid of one logit a row, as ``torch.nn.BCEWithLogitsLoss`` does.

    l(1) = ln(1 + e^-x) and l(0) = x + ln(1 + e^-x), computed stably; a difference of a needs the logit -a.

    References
    ----------
    Aggarwal et al. (2021), equation (4).

    Examples
    --------
    >>> SigmoidCrossEntropy().row_losses([-1000.0])
    array([[   0., 1000.]])
    """

    def __post_init__(self) -> None:
        Loss.__post_init__(self)
        if self.classes != 2:
            raise InvalidInput(f"classes must be 2 for a sigmoid, got {self.classes!r}; use SoftmaxCrossEntropy")

    def neutral(self, rows: int, *, precision: Precision = FLOAT64) -> Numbers:
        """Return logits 0.

        Examples
        --------
        >>> SigmoidCrossEntropy().neutral(2)
        array([0., 0.])
        """
        return precision.array(np.zeros(rows))

    def difference_range(self, *, precision: Precision = FLOAT64) -> float:
        """Return infinity: a logit is not clipped.

        Examples
        --------
        >>> SigmoidCrossEntropy().difference_range()
        inf
        """
        return math.inf

    def prediction_for(self, differences: ArrayLike, *, precision: Precision = FLOAT64) -> Numbers:
        """Return the logits -a.

        Examples
        --------
        >>> SigmoidCrossEntropy().prediction_for([2.0])
        array([-2.])
        """
        with precision.active():
            return -offsets_of(differences, classes=2, precision=precision)[:, 1]

    def _losses(self, predictions: Numbers, precision: Precision) -> Numbers:
        x = _check_logits(predictions, columns=1)
        zero = precision.array(0)
        softplus = precision.log1p(precision.exp(-np.abs(x)))
        # -log_sigmoid(x) = max(-x, 0) + ln(1 + e^-|x|), as torch computes it.
        ones = np.maximum(-x, zero) + softplus
        return np.stack([x + ones, ones], axis=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftmaxCrossEntropy(Loss):
    """Cross-entropy of the softmax of K logits a row, as ``torch.nn.CrossEntropyLoss`` does.

    l(y) = ln sum_k e^(x_k - M) - (x_y - M), M the largest logit: only differences of logits matter.

    References
    ----------
    Aggarwal et al. (2021), Appendix B.

    Examples
    --------
    >>> SoftmaxCrossEntropy(classes=3).row_losses([[0.0, -1.0, -2.0]]).round(4)
    array([[0.4076, 1.4076, 2.4076]])
    """

    @property
    def columns(self) -> int:
        """One logit for each class.

        Examples
        --------
        >>> SoftmaxCrossEntropy().columns
        2
        """
        return self.classes

    def neutral(self, rows: int, *, precision: Precision = FLOAT64) -> Numbers:
        """Return logits 0.

        Examples
        --------
        >>> SoftmaxCrossEntropy().neutral(1)
        array([[0., 0.]])
        """
        return precision.array(np.zeros((rows, self.classes)))

    def difference_range(self, *, precision: Precision = FLOAT64) -> float:
        """Return infinity: a logit is not clipped.

        Examples
        --------
        >>> SoftmaxCrossEntropy().difference_range()
        inf
        """
        return math.inf

    def prediction_for(self, differences: ArrayLike, *, precision: Precision = FLOAT64) -> Numbers:
        """Return the logits, minus the wanted losses.

        Examples
        --------
        >>> SoftmaxCrossEntropy(classes=3).prediction_for([2.0])
        array([[-0., -2., -4.]])
        """
        with precision.active():
            return -offsets_of(differences, classes=self.classes, precision=precision)

    def _losses(self, predictions: Numbers, precision: Precision) -> Numbers:
        x = _check_logits(predictions, columns=self.classes)
        shifted = x - x.max(axis=1, keepdims=True)
        normaliser = precision.log(precision.exp(shifted).sum(axis=1, keepdims=True))
        losses: Numbers = normaliser - shifted
        return losses


def _check_logits(predictions: Numbers, *, columns: int) -> Numbers:
    shape = "(rows,)" if columns == 1 else f"(rows, {columns})"
    if predictions.ndim != (1 if columns == 1 else 2) or (columns > 1 and predictions.shape[1] != columns):
        raise InvalidInput(f"predictions must be logits of shape {shape}, got {predictions.shape}")
    # Comparisons, not isfinite: objects have none. NaN fails both.
    if not np.all((predictions > -math.inf) & (predictions < math.inf)):
        raise InvalidInput("predictions must be finite logits, got an infinite or missing value")
    return predictions
