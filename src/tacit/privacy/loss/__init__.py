"""What a mechanism may give away, as a frozen value; what it costs is worked out from it, never stored apart."""

from tacit.privacy.loss.base import PrivacyLoss, distribution_of
from tacit.privacy.loss.composed import ComposedLoss
from tacit.privacy.loss.discrete import DiscreteGaussianLoss, DiscreteLaplaceLoss
from tacit.privacy.loss.files import loss_from_json, loss_to_json
from tacit.privacy.loss.real import GaussianLoss, SampledGaussianLoss, sampled_step
from tacit.privacy.loss.worst import ApproximateLoss, PureLoss

__all__ = [
    "ApproximateLoss",
    "ComposedLoss",
    "DiscreteGaussianLoss",
    "DiscreteLaplaceLoss",
    "GaussianLoss",
    "PrivacyLoss",
    "PureLoss",
    "SampledGaussianLoss",
    "distribution_of",
    "loss_from_json",
    "loss_to_json",
    "sampled_step",
]
