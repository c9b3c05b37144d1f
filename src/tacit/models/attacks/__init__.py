"""Measure what a trained model tells about its training data."""

from tacit.models.attacks.confidence import (
    confidence_from_logits,
    confidence_from_losses,
    confidence_from_probabilities,
    measure_confidence,
)
from tacit.models.attacks.lira import OfflineLira, OnlineLira, PerPoint, Pooled
from tacit.models.attacks.loss_threshold import LossThreshold, attack_losses
from tacit.models.attacks.margin import BoundedMargin, KnownMargin, MarginRule
from tacit.models.attacks.outputs import MarginLeak, attack_margin, attack_outputs
from tacit.models.attacks.reconstruction import Reconstruction, Similarity, measure_similarity, reconstruct_points
from tacit.models.attacks.rmia import OfflineRmia, OnlineRmia, Population
from tacit.models.attacks.shadow import Shadows
from tacit.models.attacks.shadow_training import train_shadows
from tacit.models.attacks.span import WeightSpan, attack_weights, find_span
from tacit.models.attacks.targets import MembershipAttack, Targets, attack_confidence, attack_model, gather_targets
from tacit.models.attacks.targets_leak import measure_membership
from tacit.models.attacks.univariate import reconstruct_univariate, reconstruction_leak

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
