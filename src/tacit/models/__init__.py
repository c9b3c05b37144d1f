"""Trained networks: train them to a certified margin, protect their training data, attack them."""

from tacit.models.network import TwoLayerReLU

__all__ = ["TwoLayerReLU"]
