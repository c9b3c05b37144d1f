"""Learn from randomized labels as much as they tell."""

from tacit.labels.learn.backward import Backward
from tacit.labels.learn.choose import Choice, CleanLabels, HeldOut, Judge, choose_learner
from tacit.labels.learn.classifier import LabelPrivateClassifier
from tacit.labels.learn.denoise import AsGiven, Denoise, Forward
from tacit.labels.learn.keeper import ValidationKeeper
from tacit.labels.learn.neighbours import Neighbours
from tacit.labels.learn.network import ForwardCorrected, Likelihoods, TorchClassifier, Twins
from tacit.labels.learn.regressor import LabelPrivateRegressor
from tacit.labels.learn.released import ReleasedLabels
from tacit.labels.learn.retrain import Careful, Confidence, Consensus, Full, Retrain, RetrainingReport
from tacit.labels.learn.validate import AccuracyEstimate, debiased_accuracy, debiased_scorer

__all__ = [
    "AccuracyEstimate",
    "AsGiven",
    "Backward",
    "Careful",
    "Choice",
    "CleanLabels",
    "Confidence",
    "Consensus",
    "Denoise",
    "Forward",
    "ForwardCorrected",
    "Full",
    "HeldOut",
    "Judge",
    "LabelPrivateClassifier",
    "LabelPrivateRegressor",
    "Likelihoods",
    "Neighbours",
    "ReleasedLabels",
    "Retrain",
    "RetrainingReport",
    "TorchClassifier",
    "Twins",
    "ValidationKeeper",
    "choose_learner",
    "debiased_accuracy",
    "debiased_scorer",
]
