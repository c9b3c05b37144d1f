"""Torch networks as scikit-learn classifiers and transformers, with the losses that noisy labels ask for.

Needs the extra ``torch``.
"""

from tacit.labels.learn.network.classifier import TorchClassifier
from tacit.labels.learn.network.likelihoods import Likelihoods
from tacit.labels.learn.network.losses import (
    CrossEntropy,
    ForwardCorrected,
    GeneralisedCrossEntropy,
    Loss,
    SymmetricCrossEntropy,
)
from tacit.labels.learn.network.optimizers import Adam, Optimizer
from tacit.labels.learn.network.twins import Twins
from tacit.labels.learn.network.views import Bent, Corrupted, Views

__all__ = [
    "Adam",
    "Bent",
    "Corrupted",
    "CrossEntropy",
    "ForwardCorrected",
    "GeneralisedCrossEntropy",
    "Likelihoods",
    "Loss",
    "Optimizer",
    "SymmetricCrossEntropy",
    "TorchClassifier",
    "Twins",
    "Views",
]
