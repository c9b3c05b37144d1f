"""Mechanisms for labels, and the release of a label column."""

from tacit.data.classes import Classes
from tacit.labels.protect.bins import RandomizedResponseOnBins
from tacit.labels.protect.finite import FiniteMechanism
from tacit.labels.protect.laplace import LaplaceOneHot
from tacit.labels.protect.prior import PriorRandomizedResponse, best_top_k
from tacit.labels.protect.release import MissingLabels, release_labels
from tacit.labels.protect.response import RandomizedResponse
from tacit.labels.protect.unbiased import OptimalUnbiased

__all__ = [
    "Classes",
    "FiniteMechanism",
    "LaplaceOneHot",
    "MissingLabels",
    "OptimalUnbiased",
    "PriorRandomizedResponse",
    "RandomizedResponse",
    "RandomizedResponseOnBins",
    "best_top_k",
    "release_labels",
]
