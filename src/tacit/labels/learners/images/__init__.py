"""Learn from images and released labels: represent, vote, train, renew. Needs the extra ``torch``."""

from tacit.labels.learners.images.classifier import ImageClassifier
from tacit.labels.learners.images.representation import PatchRepresentation
from tacit.labels.learners.images.training import VotedTraining

__all__ = ["ImageClassifier", "PatchRepresentation", "VotedTraining"]
