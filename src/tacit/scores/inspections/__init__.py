"""Signs that a submission was crafted to read labels, not to predict them."""

from tacit.scores.inspections.sketch import sketch_submission
from tacit.scores.inspections.submission import FeatureStudy, SubmissionFinding, inspect_submission

__all__ = ["FeatureStudy", "SubmissionFinding", "inspect_submission", "sketch_submission"]
