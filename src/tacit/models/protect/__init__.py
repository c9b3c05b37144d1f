"""Train networks that do not give their rows away."""

from tacit.models.protect.accounting import SampledGaussian, find_noise
from tacit.models.protect.dp_sgd import ASSUMPTIONS, PrivateModel, train_dp_sgd

__all__ = ["ASSUMPTIONS", "PrivateModel", "SampledGaussian", "find_noise", "train_dp_sgd"]
