"""What totals of bags still tell: labels that they fix, the best guess of the others, and the epsilon that proves."""

from tacit.bags.attack.canary import Canaries, audit_canaries, plant_canaries
from tacit.bags.attack.components import Effort
from tacit.bags.attack.feature_prior import prior_from_features
from tacit.bags.attack.fixed import Determined, determined, labels_from_sums, labels_from_totals
from tacit.bags.attack.guess import BagGuesses, guess_labels
from tacit.bags.attack.reconstruction import NoiseModel, posterior

__all__ = [
    "BagGuesses",
    "Canaries",
    "Determined",
    "Effort",
    "NoiseModel",
    "audit_canaries",
    "determined",
    "guess_labels",
    "labels_from_sums",
    "labels_from_totals",
    "plant_canaries",
    "posterior",
    "prior_from_features",
]
