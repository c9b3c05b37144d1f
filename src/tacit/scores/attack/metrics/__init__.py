"""The metrics that are not additive losses, each with its attack."""

from tacit.scores.attack.metrics.base import Metric
from tacit.scores.attack.metrics.counts import F1, Accuracy, CountDesign
from tacit.scores.attack.metrics.ranks import AUC, RankDesign
from tacit.scores.attack.metrics.regression import AbsoluteError, RootMeanSquaredError

__all__ = [
    "AUC",
    "F1",
    "AbsoluteError",
    "Accuracy",
    "CountDesign",
    "Metric",
    "RankDesign",
    "RootMeanSquaredError",
]
