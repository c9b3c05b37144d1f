"""Attacks on totals of bags: labels that they determine, the best guess of the others, and bounds on epsilon."""

from tacit.bags.attacks.canary import audit_canaries
from tacit.bags.attacks.components import SearchLimits
from tacit.bags.attacks.determined_labels import DeterminedLabels, determined, labels_from_sums, labels_from_totals
from tacit.bags.attacks.feature_prior import prior_from_features
from tacit.bags.attacks.guess import BagGuesses, guess_labels
from tacit.bags.attacks.reconstruction import NoiseModel, posterior

__all__ = [
    "BagGuesses",
    "DeterminedLabels",
    "NoiseModel",
    "SearchLimits",
    "audit_canaries",
    "determined",
    "guess_labels",
    "labels_from_sums",
    "labels_from_totals",
    "posterior",
    "prior_from_features",
]
