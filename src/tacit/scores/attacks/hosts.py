"""Metrics as hosts elsewhere compute them, by name: scikit-learn's and torch's."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tacit.privacy.errors import InvalidInput
from tacit.scores.losses import ClampedCrossEntropy, SigmoidCrossEntropy, SoftmaxCrossEntropy
from tacit.scores.metrics import F1, SKLEARN_FLOOR, Accuracy, Auc, Brier, LogLoss, Mae, Metric, Rmse, UnboundedLoss

__all__ = ["HOST_METRICS", "host_metric"]

_MANY: Mapping[str, Callable[[int], Metric]] = {
    "log_loss": lambda classes: LogLoss(classes=classes, floor=SKLEARN_FLOOR),
    "brier": lambda classes: Brier(classes=classes),
    "softmax": lambda classes: UnboundedLoss(loss=SoftmaxCrossEntropy(classes=classes)),
    "accuracy": lambda classes: Accuracy(classes=classes),
}
_TWO: Mapping[str, Callable[[], Metric]] = {
    "sigmoid": lambda: UnboundedLoss(loss=SigmoidCrossEntropy()),
    "bce": lambda: UnboundedLoss(loss=ClampedCrossEntropy()),
    "f1": F1,
    "auc": Auc,
    "rmse": Rmse,
    "mae": Mae,
}
HOST_METRICS = (*_MANY, *_TWO)
"""Every name."""


def host_metric(name: str, *, classes: int = 2) -> Metric:
    """Return the metric of this name for a number of classes."""
    if name in _MANY:
        return _MANY[name](classes)
    if name not in _TWO:
        raise InvalidInput(f"must be one of {', '.join(HOST_METRICS)}, got {name!r}", field="metric")
    if classes != 2:
        raise InvalidInput(f"must be 2 for this metric, got {classes!r}: try log_loss or accuracy", field="classes")
    return _TWO[name]()
