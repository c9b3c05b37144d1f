"""Learning from protected scores: choosing among models, and what the protection costs in doing so."""

from tacit.scores.learners.choice import Choice, choose

__all__ = ["Choice", "choose"]
