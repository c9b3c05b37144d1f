"""Train networks that do not give their rows away."""

from tacit.models.training.accounting import SampledGaussian, find_noise
from tacit.models.training.dp_sgd import ASSUMPTIONS, PrivateModel, train_dp_sgd
from tacit.models.training.early_stop import NO_PROMISE, StoppedEarly, TieRule, margin_snapshots, stop_before_ties
from tacit.models.training.label_private import FEATURES, LabelLearner, LabelPrivateModel, train_label_private

__all__ = [
    "ASSUMPTIONS",
    "FEATURES",
    "NO_PROMISE",
    "LabelLearner",
    "LabelPrivateModel",
    "PrivateModel",
    "SampledGaussian",
    "StoppedEarly",
    "TieRule",
    "find_noise",
    "margin_snapshots",
    "stop_before_ties",
    "train_dp_sgd",
    "train_label_private",
]
