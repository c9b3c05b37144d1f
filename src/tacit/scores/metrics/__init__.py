"""What a host scores by: each metric with its public range, what one label does to it, and what a score reveals."""

from typing import TypeAlias

from tacit.scores.metrics.accuracy import Accuracy
from tacit.scores.metrics.base import Metric, UnreleasedScore
from tacit.scores.metrics.custom import CustomMetric
from tacit.scores.metrics.errors import Mae, Rmse
from tacit.scores.metrics.probabilities import SKLEARN_FLOOR, Brier, LogLoss
from tacit.scores.metrics.ratios import F1, Auc
from tacit.scores.metrics.reveals import RankSums, RevealedTotal, RightRows, RowLosses, TruePositives
from tacit.scores.metrics.unbounded import ClampedLoss, SigmoidLoss, SoftmaxLoss, UnboundedLoss

HostMetric: TypeAlias = LogLoss | Brier | Accuracy | Auc | F1 | Rmse | Mae | SoftmaxLoss | SigmoidLoss | ClampedLoss
"""What hosts elsewhere show."""

__all__ = [
    "F1",
    "SKLEARN_FLOOR",
    "Accuracy",
    "Auc",
    "Brier",
    "ClampedLoss",
    "CustomMetric",
    "HostMetric",
    "LogLoss",
    "Mae",
    "Metric",
    "RankSums",
    "RevealedTotal",
    "RightRows",
    "Rmse",
    "RowLosses",
    "SigmoidLoss",
    "SoftmaxLoss",
    "TruePositives",
    "UnboundedLoss",
    "UnreleasedScore",
]
