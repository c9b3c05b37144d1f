"""Learning from protected scores: choosing among models, and the regret that the protection causes."""

from tacit.scores.learners.learn import ModelChoice, choose

__all__ = ["ModelChoice", "choose"]
