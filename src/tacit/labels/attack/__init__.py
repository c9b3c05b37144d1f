"""What randomized labels still tell: the best guess of each, what a model remembers, and whether noise was added."""

from tacit.labels.attack.acted import ResponseTest, did_it_act
from tacit.labels.attack.canary import Canaries, audit_canaries, plant_canaries
from tacit.labels.attack.guess import LabelGuesses, bayes_guess, guess_labels, guess_labels_with_features
from tacit.labels.protect.evidence import Channel, Evidence, read_evidence

__all__ = [
    "Canaries",
    "Channel",
    "Evidence",
    "LabelGuesses",
    "ResponseTest",
    "audit_canaries",
    "bayes_guess",
    "did_it_act",
    "guess_labels",
    "guess_labels_with_features",
    "plant_canaries",
    "read_evidence",
]
