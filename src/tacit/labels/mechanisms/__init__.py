"""Mechanisms that randomize labels: choices by name here, their samplers in modules of their own."""

from tacit.labels.mechanisms.base import LabelMechanism
from tacit.labels.mechanisms.bins import Bins
from tacit.labels.mechanisms.laplace import Laplace
from tacit.labels.mechanisms.prior import Prior
from tacit.labels.mechanisms.rr import Rr
from tacit.labels.mechanisms.staged import Staged
from tacit.labels.mechanisms.unbiased import Unbiased

__all__ = ["Bins", "LabelMechanism", "Laplace", "Mechanism", "Prior", "Rr", "Staged", "Unbiased"]

Mechanism = Rr | Prior | Bins | Laplace | Unbiased | Staged
