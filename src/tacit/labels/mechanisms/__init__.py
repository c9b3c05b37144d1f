"""The mechanisms that randomize labels, by name."""

from tacit.labels.mechanisms.base import LabelMechanism
from tacit.labels.mechanisms.bins import RandomizedResponseOnBins
from tacit.labels.mechanisms.event_reports import EventReports
from tacit.labels.mechanisms.laplace import LaplaceOneHot
from tacit.labels.mechanisms.per_row import ResponsePerRow
from tacit.labels.mechanisms.prior import PriorRandomizedResponse
from tacit.labels.mechanisms.response import RandomizedResponse
from tacit.labels.mechanisms.staged import StagedResponse
from tacit.labels.mechanisms.unbiased import OptimalUnbiased

__all__ = [
    "EventReports",
    "LabelMechanism",
    "LaplaceOneHot",
    "Mechanism",
    "OptimalUnbiased",
    "PriorRandomizedResponse",
    "RandomizedResponse",
    "RandomizedResponseOnBins",
    "ResponsePerRow",
    "StagedResponse",
]

Mechanism = (
    RandomizedResponse
    | PriorRandomizedResponse
    | RandomizedResponseOnBins
    | LaplaceOneHot
    | OptimalUnbiased
    | StagedResponse
    | ResponsePerRow
    | EventReports
)
"""A mechanism that a plan of labels can name."""
