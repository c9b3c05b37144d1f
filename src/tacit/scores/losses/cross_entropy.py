"""Cross-entropy on probabilities, as scikit-learn and torch compute it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from tacit.privacy.errors import InvalidInput
from tacit.scores.losses.base import Loss, offsets_of
from tacit.scores.losses.clip import Clip, Unclipped, probability_table
from tacit.scores.losses.precision import FLOAT64, Numbers, Precision

__all__ = ["ClampedCrossEntropy", "CrossEntropy", "softmax_rows"]

_SLACK = 1e-9  # a difference this little (relative) beyond the range is rounding, not a wrong plan


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossEntropy(Loss):
    """Cross-entropy l(y) = -ln p_y of clipped probabilities; with two classes one number, p_1, is a row.

    A row with losses o_y + constant has p_y = e^(-o_y)/Z.

    Parameters
    ----------
    clip
        How the host clips; :class:`MachineEpsilon` is scikit-learn's ``log_loss``.

    References
    ----------
    Aggarwal et al. (2021), equations (2), (3) and (7).

    Examples
    --------
    >>> from tacit.scores.losses import MachineEpsilon
    >>> loss = CrossEntropy(classes=3, clip=MachineEpsilon())
    >>> p = loss.prediction_for([0.02])
    >>> p.round(6)
    array([[0.340022, 0.333289, 0.326689]])
    >>> np.diff(loss.row_losses(p)).round(12)
    array([[0.02, 0.02]])
    """

    clip: Clip = Unclipped()

    def difference_range(self, *, precision: Precision = FLOAT64) -> float:
        """Return R = ln((1 - eta)/eta) at floor eta.

        Examples
        --------
        >>> from tacit.scores.losses import MachineEpsilon
        >>> round(CrossEntropy(clip=MachineEpsilon()).difference_range(), 2)
        36.04
        """
        low = self.clip.log_floor(precision=precision)
        return math.log1p(-math.exp(low)) - low

    def step_range(self, *, precision: Precision = FLOAT64) -> float:
        """Return the s for which e^(-(K-1)s)/Z is the floor.

        Examples
        --------
        >>> from tacit.scores.losses import ProbabilityFloor
        >>> round(CrossEntropy(classes=3, clip=ProbabilityFloor(1e-6)).step_range(), 4)
        6.9073
        """
        low = self.clip.log_floor(precision=precision)
        if self.classes == 2 or not math.isfinite(low):
            return self.difference_range(precision=precision)
        return float(brentq(lambda s: _log_least(s, self.classes) - low, 0.0, -low, xtol=1e-13))

    def prediction_for(self, differences: ArrayLike, *, precision: Precision = FLOAT64) -> Numbers:
        """Return probabilities e^(-offset)/Z whose rows have the wanted loss differences.

        Examples
        --------
        >>> CrossEntropy().prediction_for([0.0, 1.0]).round(6)
        array([0.5     , 0.268941])
        """
        with precision.active():
            p = softmax_rows(-offsets_of(differences, classes=self.classes, precision=precision), precision)
            self._check_range(p, precision)
            return p[:, 1] if self.columns == 1 else p

    def _check_range(self, p: Numbers, precision: Precision) -> None:
        low = self.clip.log_floor(precision=precision)
        least = float(np.min(precision.log(p))) if p.size else 0.0
        if least < low - _SLACK * abs(low):
            raise InvalidInput(
                f"differences must need no probability below {math.exp(low):.3g}, where {self} is clipped: "
                f"they need e^{least:.6g}; ask for fewer labels in this query"
            )

    def _losses(self, predictions: Numbers, precision: Precision) -> Numbers:
        p = probability_table(predictions, classes=self.classes, precision=precision)
        return -precision.log(self.clip.clip(p, precision=precision))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClampedCrossEntropy(Loss):
    """Binary cross-entropy whose logarithms are clamped from below, as ``torch.nn.BCELoss`` does.

    l(1) = -max(ln p, -limit) and l(0) = -max(ln(1 - p), -limit), the latter by log1p.

    Parameters
    ----------
    limit
        The largest loss of a row.

    Examples
    --------
    >>> ClampedCrossEntropy().row_losses([0.0, 0.5]).round(4)
    array([[  0.    , 100.    ],
           [  0.6931,   0.6931]])
    """

    limit: float = 100.0

    def __post_init__(self) -> None:
        # Python's zero-argument super() fails in dataclasses that are rebuilt with slots.
        Loss.__post_init__(self)
        if self.classes != 2:
            raise InvalidInput(f"classes must be 2 for ClampedCrossEntropy, got {self.classes!r}; use CrossEntropy")
        if not self.limit > 0:
            raise InvalidInput(f"limit must be > 0, got {self.limit!r}")

    def difference_range(self, *, precision: Precision = FLOAT64) -> float:
        """Return the limit: p = 0 costs it, and its complement nothing.

        Examples
        --------
        >>> ClampedCrossEntropy().difference_range()
        100.0
        """
        return self.limit

    def prediction_for(self, differences: ArrayLike, *, precision: Precision = FLOAT64) -> Numbers:
        """Return p = 1/(1 + e^a).

        Examples
        --------
        >>> ClampedCrossEntropy().prediction_for([0.0, 100.0])
        array([5.00000000e-01, 3.72007598e-44])
        """
        with precision.active():
            offsets = offsets_of(differences, classes=2, precision=precision)
            worst = float(np.max(np.abs(offsets), initial=0))
            if worst > self.limit:
                raise InvalidInput(f"differences must be at most {self.limit} under {self}, got {worst:.6g}")
            return softmax_rows(-offsets, precision)[:, 1]

    def _losses(self, predictions: Numbers, precision: Precision) -> Numbers:
        p = probability_table(predictions, classes=2, precision=precision)[:, 1]
        logs = np.stack([precision.log1p(-p), precision.log(p)], axis=1)
        clamped: Numbers = -np.maximum(logs, precision.array(-self.limit))
        return clamped


def softmax_rows(logits: Numbers, precision: Precision) -> Numbers:
    """Return e^x divided by its row sum, stably.

    Examples
    --------
    >>> softmax_rows(np.array([[0.0, 0.0]]), FLOAT64)
    array([[0.5, 0.5]])
    """
    weights = precision.exp(logits - logits.max(axis=1, keepdims=True))
    result: Numbers = weights / weights.sum(axis=1, keepdims=True)
    return result


def _log_least(step: float, classes: int) -> float:
    return -(classes - 1) * step - math.log(sum(math.exp(-step * k) for k in range(classes)))
