"""Torch networks as scikit-learn classifiers, with the losses that noisy labels ask for; needs the extra ``torch``."""

from tacit.labels.learn.network.classifier import TorchClassifier
from tacit.labels.learn.network.likelihoods import Likelihoods
from tacit.labels.learn.network.losses import (
    CrossEntropy,
    ForwardCorrected,
    GeneralisedCrossEntropy,
    Loss,
    SymmetricCrossEntropy,
)
from tacit.labels.learn.network.optimizers import Adam, MomentumSGD, Optimizer

__all__ = [
    "Adam",
    "CrossEntropy",
    "ForwardCorrected",
    "GeneralisedCrossEntropy",
    "Likelihoods",
    "Loss",
    "MomentumSGD",
    "Optimizer",
    "SymmetricCrossEntropy",
    "TorchClassifier",
]
