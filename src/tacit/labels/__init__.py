"""One randomized label a row: protect it, learn from it, attack it."""

from tacit.labels.learn import (
    AccuracyEstimate,
    AsGiven,
    Backward,
    Choice,
    CleanLabels,
    Confidence,
    Consensus,
    Denoise,
    Forward,
    ForwardCorrected,
    Full,
    HeldOut,
    Judge,
    LabelPrivateClassifier,
    LabelPrivateRegressor,
    Likelihoods,
    ReleasedLabels,
    Retrain,
    RetrainingReport,
    TorchClassifier,
    backward_loss,
    choose_learner,
    debiased_accuracy,
    debiased_scorer,
    forward_loss,
    generalised_cross_entropy,
    symmetric_cross_entropy,
)
from tacit.labels.protect.bins import RandomizedResponseOnBins
from tacit.labels.protect.coding import Classes
from tacit.labels.protect.finite import FiniteMechanism
from tacit.labels.protect.laplace import LaplaceOneHot
from tacit.labels.protect.prior import PriorRandomizedResponse, best_top_k
from tacit.labels.protect.release import MissingLabels, release_labels
from tacit.labels.protect.response import RandomizedResponse
from tacit.labels.protect.unbiased import OptimalUnbiased

__all__ = [
    "AccuracyEstimate",
    "AsGiven",
    "Backward",
    "Choice",
    "Classes",
    "CleanLabels",
    "Confidence",
    "Consensus",
    "Denoise",
    "FiniteMechanism",
    "Forward",
    "ForwardCorrected",
    "Full",
    "HeldOut",
    "Judge",
    "LabelPrivateClassifier",
    "LabelPrivateRegressor",
    "LaplaceOneHot",
    "Likelihoods",
    "MissingLabels",
    "OptimalUnbiased",
    "PriorRandomizedResponse",
    "RandomizedResponse",
    "RandomizedResponseOnBins",
    "ReleasedLabels",
    "Retrain",
    "RetrainingReport",
    "TorchClassifier",
    "backward_loss",
    "best_top_k",
    "choose_learner",
    "debiased_accuracy",
    "debiased_scorer",
    "forward_loss",
    "generalised_cross_entropy",
    "release_labels",
    "symmetric_cross_entropy",
]
