"""Signs that a submission or a network was crafted to read labels, not to predict them."""

from tacit.scores.inspections.finding import SubmissionFinding
from tacit.scores.inspections.network import NetworkInspection, inspect_network
from tacit.scores.inspections.sketch import sketch_submission
from tacit.scores.inspections.submission import FeatureStudy, inspect_submission

__all__ = [
    "FeatureStudy",
    "NetworkInspection",
    "SubmissionFinding",
    "inspect_network",
    "inspect_submission",
    "sketch_submission",
]
