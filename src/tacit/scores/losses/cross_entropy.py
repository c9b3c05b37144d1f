"""Cross-entropy on probabilities, as scikit-learn and torch compute it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import brentq

from tacit.privacy.errors import InvalidInput
from tacit.scores.losses.base import InvertibleLoss
from tacit.scores.losses.clip import NoClip, ProbabilityClip, probability_table
from tacit.scores.losses.precision import Numbers, NumberSystem

__all__ = ["ClampedCrossEntropy", "ClippedCrossEntropy", "check_floor", "softmax_rows"]

_SLACK = 1e-9  # a difference this little (relative) beyond the range is rounding, not a wrong plan


@dataclass(frozen=True, slots=True, kw_only=True)
class ClippedCrossEntropy(InvertibleLoss):
    """Cross-entropy l(y) = -ln p_y of clipped probabilities; with two classes one number, p_1, is a row.

    A row with losses o_y + constant has p_y = e^(-o_y)/Z, so R = ln((1 - eta)/eta) at the floor eta.

    Parameters
    ----------
    clip
        How the host clips; :class:`MachineEpsilon` is scikit-learn's ``log_loss``.

    References
    ----------
    Aggarwal et al. (2021), equations (2), (3) and (7).
    """

    clip: ProbabilityClip = field(default_factory=NoClip)

    def _range(self, precision: NumberSystem) -> float:
        low = self.clip.log_floor(precision=precision)
        return math.log1p(-math.exp(low)) - low

    def _step(self, precision: NumberSystem) -> float:
        low = self.clip.log_floor(precision=precision)
        if self.classes == 2 or not math.isfinite(low):
            return self._range(precision)
        return float(brentq(lambda s: _log_least(s, self.classes) - low, 0.0, -low, xtol=1e-13))

    def _invert(self, offsets: Numbers, precision: NumberSystem) -> Numbers:
        p = softmax_rows(-offsets, precision=precision)
        check_floor(p, loss=self, log_floor=self.clip.log_floor(precision=precision), precision=precision)
        return p

    def _losses(self, predictions: Numbers, precision: NumberSystem) -> Numbers:
        p = probability_table(predictions, classes=self.classes, precision=precision)
        return -precision.log(self.clip.clip(p, precision=precision))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClampedCrossEntropy(InvertibleLoss):
    """Binary cross-entropy whose logarithms are clamped from below, as ``torch.nn.BCELoss`` does.

    l(1) = -max(ln p, -limit) and l(0) = -max(ln(1 - p), -limit), the latter by log1p. R is the limit.
    """

    limit: float = 100.0

    def __post_init__(self) -> None:
        self._check_binary(use="ClippedCrossEntropy")
        if not 0 < self.limit < math.inf:
            raise InvalidInput(f"must be a finite number > 0, got {self.limit!r}", field="limit")

    def _range(self, _: NumberSystem) -> float:
        return self.limit

    def _invert(self, offsets: Numbers, precision: NumberSystem) -> Numbers:
        p = softmax_rows(-offsets, precision=precision)
        check_floor(p, loss=self, log_floor=-self.limit, precision=precision)
        return p

    def _losses(self, predictions: Numbers, precision: NumberSystem) -> Numbers:
        p = probability_table(predictions, classes=2, precision=precision)[:, 1]
        logs = np.stack([precision.log1p(-p), precision.log(p)], axis=1)
        clamped: Numbers = -np.maximum(logs, precision.array(-self.limit))
        return clamped


def softmax_rows(logits: Numbers, *, precision: NumberSystem) -> Numbers:
    """Return e^x divided by its row sum, stably."""
    weights = precision.exp(logits - logits.max(axis=1, keepdims=True))
    result: Numbers = weights / weights.sum(axis=1, keepdims=True)
    return result


def check_floor(p: Numbers, *, loss: InvertibleLoss, log_floor: float, precision: NumberSystem) -> None:
    """Raise if a probability is below the floor by more than rounding: the host would clip it."""
    least = precision.log(p).min(initial=0.0)
    if least < log_floor - _SLACK * abs(log_floor):
        raise InvalidInput(
            f"differences must need no probability below e^{log_floor:.6g}, the least that {loss} resolves, "
            f"got e^{float(least):.6g}; ask for fewer labels in this query"
        )


def _log_least(step: float, classes: int) -> float:
    return -(classes - 1) * step - math.log(sum(math.exp(-step * k) for k in range(classes)))
