"""The privacy loss of a mechanism, as a frozen value; its cost is computed from it, never stored separately."""

from tacit.privacy.loss.base import PrivacyLoss, distribution_of
from tacit.privacy.loss.composed import ComposedLoss
from tacit.privacy.loss.discrete import DiscreteGaussianLoss, DiscreteLaplaceLoss
from tacit.privacy.loss.files import loss_from_json, loss_to_json
from tacit.privacy.loss.real import GaussianLoss
from tacit.privacy.loss.sampled import SampledGaussianLoss, sampled_step
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
