"""What a host may score by, each with its public range and what one label does to it."""

from tacit.scores.protect.metrics.base import Measurement, Metric
from tacit.scores.protect.metrics.counts import F1, Auc
from tacit.scores.protect.metrics.numbers import Mae, Rmse
from tacit.scores.protect.metrics.own import OwnMetric
from tacit.scores.protect.metrics.reading import METRICS, metric_from_json
from tacit.scores.protect.metrics.rows import Accuracy, Brier, LogLoss

__all__ = [
    "F1",
    "METRICS",
    "Accuracy",
    "Auc",
    "Brier",
    "LogLoss",
    "Mae",
    "Measurement",
    "Metric",
    "OwnMetric",
    "Rmse",
    "metric_from_json",
]
