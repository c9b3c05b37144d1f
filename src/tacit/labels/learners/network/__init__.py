"""Torch networks as scikit-learn classifiers and transformers, with the losses that noisy labels require.

Needs the extra ``torch``.
"""

from tacit.labels.learners.network.classifier import TorchClassifier
from tacit.labels.learners.network.losses import ForwardCorrected, NetworkLoss, SoftCrossEntropy
from tacit.labels.learners.network.optimizers import Adam, Optimizer
from tacit.labels.learners.network.twins import BarlowTwins
from tacit.labels.learners.network.views import AffineViews, CorruptedViews, RandomViews

__all__ = [
    "Adam",
    "AffineViews",
    "BarlowTwins",
    "CorruptedViews",
    "ForwardCorrected",
    "NetworkLoss",
    "Optimizer",
    "RandomViews",
    "SoftCrossEntropy",
    "TorchClassifier",
]
