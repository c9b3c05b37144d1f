"""Learning from protected scores: choosing among models, and what the protection costs in doing so."""

from tacit.scores.learners.choice import ModelChoice, choose

__all__ = ["ModelChoice", "choose"]
