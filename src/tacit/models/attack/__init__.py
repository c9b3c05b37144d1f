"""Measure what a trained model tells about its training data."""

from tacit.models.attack.confidence import (
    confidence_from_logits,
    confidence_from_losses,
    confidence_from_probabilities,
    measure_confidence,
)
from tacit.models.attack.lira import OfflineLira, OnlineLira, PerPoint, Pooled
from tacit.models.attack.loss_threshold import LossThreshold, attack_losses
from tacit.models.attack.margin import BoundedMargin, KnownMargin, MarginRule
from tacit.models.attack.outputs import MarginLeak, attack_margin, attack_outputs
from tacit.models.attack.reconstruction import Reconstruction, Similarity, measure_similarity, reconstruct_points
from tacit.models.attack.rmia import OfflineRmia, OnlineRmia, Population
from tacit.models.attack.shadow import Shadows
from tacit.models.attack.shadow_training import train_shadows
from tacit.models.attack.span import WeightSpan, attack_weights, find_span
from tacit.models.attack.targets import MembershipAttack, Targets, attack_confidence, attack_model, gather_targets
from tacit.models.attack.targets_leak import measure_membership
from tacit.models.attack.univariate import reconstruct_univariate, reconstruction_leak

__all__ = [
    "BoundedMargin",
    "KnownMargin",
    "LossThreshold",
    "MarginLeak",
    "MarginRule",
    "MembershipAttack",
    "OfflineLira",
    "OfflineRmia",
    "OnlineLira",
    "OnlineRmia",
    "PerPoint",
    "Pooled",
    "Population",
    "Reconstruction",
    "Shadows",
    "Similarity",
    "Targets",
    "WeightSpan",
    "attack_confidence",
    "attack_losses",
    "attack_margin",
    "attack_model",
    "attack_outputs",
    "attack_weights",
    "confidence_from_logits",
    "confidence_from_losses",
    "confidence_from_probabilities",
    "find_span",
    "gather_targets",
    "measure_confidence",
    "measure_membership",
    "measure_similarity",
    "reconstruct_points",
    "reconstruct_univariate",
    "reconstruction_leak",
    "train_shadows",
]
