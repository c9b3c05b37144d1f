"""Training that protects the rows it sees, or weakens attacks on them."""

from tacit.models.training.accounting import SampledGaussian, find_noise
from tacit.models.training.dp_sgd import ASSUMPTIONS, PrivateModel, train_dp_sgd
from tacit.models.training.early_stop import StoppedEarly, TieRule, margin_snapshots, stop_before_ties

__all__ = [
    "ASSUMPTIONS",
    "PrivateModel",
    "SampledGaussian",
    "StoppedEarly",
    "TieRule",
    "find_noise",
    "margin_snapshots",
    "stop_before_ties",
    "train_dp_sgd",
]
