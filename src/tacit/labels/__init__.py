"""One randomized label a row: protect it, learn from it, attack it."""

from tacit.data.classes import Classes
from tacit.labels.learn import (
    AccuracyEstimate,
    AsGiven,
    Backward,
    Careful,
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
    Neighbours,
    ReleasedLabels,
    Retrain,
    RetrainingReport,
    TorchClassifier,
    Twins,
    ValidationKeeper,
    choose_learner,
    debiased_accuracy,
    debiased_scorer,
)
from tacit.labels.protect.bins import RandomizedResponseOnBins
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
    "Careful",
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
    "Neighbours",
    "OptimalUnbiased",
    "PriorRandomizedResponse",
    "RandomizedResponse",
    "RandomizedResponseOnBins",
    "ReleasedLabels",
    "Retrain",
    "RetrainingReport",
    "TorchClassifier",
    "Twins",
    "ValidationKeeper",
    "best_top_k",
    "choose_learner",
    "debiased_accuracy",
    "debiased_scorer",
    "release_labels",
]
