"""Guarding scores: what a host may score by, what of a score leaves, and the marks of crafted submissions."""

from tacit.scores.protect.crafted import FeatureStudy, inspect_submission
from tacit.scores.protect.findings import Finding
from tacit.scores.protect.metrics import (
    F1,
    METRICS,
    Accuracy,
    Auc,
    Brier,
    LogLoss,
    Mae,
    Measurement,
    Metric,
    OwnMetric,
    Rmse,
    metric_from_json,
)
from tacit.scores.protect.network import NetworkInspection, inspect_network
from tacit.scores.protect.policies import (
    POLICIES,
    Answer,
    Exact,
    Ladder,
    Laplace,
    Policy,
    Rounded,
    State,
    Thresholdout,
    policy_from_json,
)
from tacit.scores.protect.setting import Budget, Setting, Split, complete_setting, default_setting, identify
from tacit.scores.protect.sketch import sketch_submission

__all__ = [
    "F1",
    "METRICS",
    "POLICIES",
    "Accuracy",
    "Answer",
    "Auc",
    "Brier",
    "Budget",
    "Exact",
    "FeatureStudy",
    "Finding",
    "Ladder",
    "Laplace",
    "LogLoss",
    "Mae",
    "Measurement",
    "Metric",
    "NetworkInspection",
    "OwnMetric",
    "Policy",
    "Rmse",
    "Rounded",
    "Setting",
    "Split",
    "State",
    "Thresholdout",
    "complete_setting",
    "default_setting",
    "identify",
    "inspect_network",
    "inspect_submission",
    "metric_from_json",
    "policy_from_json",
    "sketch_submission",
]
