"""The scorers hosts run, each as the loss that equals it."""

from __future__ import annotations

from tacit.scores.losses.base import Reduction
from tacit.scores.losses.clip import MachineEpsilon, ProbabilityFloor
from tacit.scores.losses.cross_entropy import ClampedCrossEntropy, CrossEntropy
from tacit.scores.losses.logits import SigmoidCrossEntropy, SoftmaxCrossEntropy
from tacit.scores.losses.squared import SquaredError

__all__ = [
    "clipped_log_loss",
    "sklearn_brier_score",
    "sklearn_log_loss",
    "torch_bce",
    "torch_bce_with_logits",
    "torch_cross_entropy",
]


def sklearn_log_loss(*, classes: int = 2, reduction: Reduction = Reduction.MEAN) -> CrossEntropy:
    """Return ``sklearn.metrics.log_loss``: clipped at the dtype's epsilon, rows not renormalised; equal bit for bit.

    scikit-learn >= 1.5 only warns where a row does not sum to 1. ``normalize=False`` is the sum.

    Examples
    --------
    >>> from sklearn.metrics import log_loss
    >>> sklearn_log_loss().score([0.1, 0.8], [0, 1]) == log_loss([0, 1], [0.1, 0.8])
    True
    """
    return CrossEntropy(classes=classes, reduction=reduction, clip=MachineEpsilon())


def clipped_log_loss(*, classes: int = 2, floor: float = 1e-15, reduction: Reduction = Reduction.MEAN) -> CrossEntropy:
    """Return the log loss that clips at 1e-15, as scikit-learn did before 1.3 and competitions do.

    Examples
    --------
    >>> round(clipped_log_loss().difference_range(), 4)
    34.5388
    """
    return CrossEntropy(classes=classes, reduction=reduction, clip=ProbabilityFloor(floor))


def sklearn_brier_score(*, classes: int = 2) -> SquaredError:
    """Return ``sklearn.metrics.brier_score_loss``, halved for two classes only; equal bit for bit.

    Examples
    --------
    >>> from sklearn.metrics import brier_score_loss
    >>> sklearn_brier_score().score([0.1, 0.8], [0, 1]) == brier_score_loss([0, 1], [0.1, 0.8])
    True
    """
    return SquaredError(classes=classes)


def torch_bce(*, reduction: Reduction = Reduction.MEAN) -> ClampedCrossEntropy:
    """Return ``torch.nn.BCELoss``: logarithms clamped at -100.

    torch's logarithm and order of summation differ from NumPy's: a score agrees to a few units in the last
    place of the largest partial sum, not bit for bit.

    Examples
    --------
    >>> torch_bce().score([0.0], [1])
    100.0
    """
    return ClampedCrossEntropy(reduction=reduction)


def torch_bce_with_logits(*, reduction: Reduction = Reduction.MEAN) -> SigmoidCrossEntropy:
    """Return ``torch.nn.BCEWithLogitsLoss``, to a few units in the last place.

    Examples
    --------
    >>> round(torch_bce_with_logits().score([-3.0, 3.0], [1, 0]), 6)
    3.048587
    """
    return SigmoidCrossEntropy(reduction=reduction)


def torch_cross_entropy(*, classes: int = 2, reduction: Reduction = Reduction.MEAN) -> SoftmaxCrossEntropy:
    """Return ``torch.nn.CrossEntropyLoss`` on logits, to a few units in the last place.

    Examples
    --------
    >>> round(torch_cross_entropy(classes=3).score([[0.0, 0.0, 0.0]], [2]), 6)
    1.098612
    """
    return SoftmaxCrossEntropy(classes=classes, reduction=reduction)
