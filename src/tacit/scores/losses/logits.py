"""Cross-entropy on logits: the sigmoid and the softmax are part of the loss, and nothing is clipped."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.privacy.errors import InvalidInput
from tacit.scores.losses.base import InvertibleLoss
from tacit.scores.losses.precision import Numbers, NumberSystem

__all__ = ["SigmoidCrossEntropy", "SoftmaxCrossEntropy"]


class _LogitLoss(InvertibleLoss):
    """A loss of logits: losses are chosen by the differences of logits, without a limit."""

    __slots__ = ()

    def _range(self, _: NumberSystem) -> float:
        return math.inf

    def _invert(self, offsets: Numbers, _: NumberSystem) -> Numbers:
        negated: Numbers = 0 - offsets  # not -offsets, which writes a neutral row as -0.0
        return negated


@dataclass(frozen=True, slots=True, kw_only=True)
class SigmoidCrossEntropy(_LogitLoss):
    """Binary cross-entropy of the sigmoid of one logit a row, as ``torch.nn.BCEWithLogitsLoss`` does.

    l(1) = ln(1 + e^-x) and l(0) = x + ln(1 + e^-x), computed stably; a difference of a needs the logit -a,
    and R is infinite.

    References
    ----------
    Aggarwal et al. (2021), equation (4).
    """

    def __post_init__(self) -> None:
        self._check_binary(use="SoftmaxCrossEntropy")

    def _losses(self, predictions: Numbers, precision: NumberSystem) -> Numbers:
        x = _check_logits(predictions, columns=1)
        softplus = precision.log1p(precision.exp(-np.abs(x)))
        # -log_sigmoid(x) = max(-x, 0) + ln(1 + e^-|x|), as torch computes it.
        ones = np.maximum(-x, precision.array(0)) + softplus
        return np.stack([x + ones, ones], axis=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftmaxCrossEntropy(_LogitLoss):
    """Cross-entropy of the softmax of K logits a row, as ``torch.nn.CrossEntropyLoss`` does.

    l(y) = ln sum_k e^(x_k - M) - (x_y - M), M the largest logit: only differences of logits matter, and R is
    infinite.

    References
    ----------
    Aggarwal et al. (2021), Appendix B.
    """

    @property
    def columns(self) -> int:
        """One logit for each class."""
        return self.classes

    def _losses(self, predictions: Numbers, precision: NumberSystem) -> Numbers:
        x = _check_logits(predictions, columns=self.classes)
        shifted = x - x.max(axis=1, keepdims=True)
        normalizer = precision.log(precision.exp(shifted).sum(axis=1, keepdims=True))
        losses: Numbers = normalizer - shifted
        return losses


def _check_logits(predictions: Numbers, *, columns: int) -> Numbers:
    shape = "(rows,)" if columns == 1 else f"(rows, {columns})"
    if predictions.ndim != (1 if columns == 1 else 2) or (columns > 1 and predictions.shape[1] != columns):
        raise InvalidInput(f"must be logits of shape {shape}, got {predictions.shape}", field="predictions")
    # Comparisons, not isfinite: objects have none. NaN fails both.
    if not np.all((predictions > -math.inf) & (predictions < math.inf)):
        raise InvalidInput("must be finite logits, got an infinite or missing value", field="predictions")
    return predictions
