"""What a host scores by: each metric with its public range, what one label does to it, and what a score reveals."""

from tacit.scores.metrics.accuracy import Accuracy
from tacit.scores.metrics.auc import Auc
from tacit.scores.metrics.base import Measurement, Metric
from tacit.scores.metrics.errors import Mae, Rmse
from tacit.scores.metrics.f1 import F1
from tacit.scores.metrics.own import CustomMetric
from tacit.scores.metrics.probabilities import SKLEARN_FLOOR, Brier, LogLoss
from tacit.scores.metrics.reveals import RankSums, Reveals, RightRows, RowLosses, TruePositives
from tacit.scores.metrics.unbounded import UnboundedLoss

__all__ = [
    "F1",
    "SKLEARN_FLOOR",
    "Accuracy",
    "Auc",
    "Brier",
    "CustomMetric",
    "LogLoss",
    "Mae",
    "Measurement",
    "Metric",
    "RankSums",
    "Reveals",
    "RightRows",
    "Rmse",
    "RowLosses",
    "TruePositives",
    "UnboundedLoss",
]
