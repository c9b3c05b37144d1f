"""Scores: a loss value for a submission, what it tells about the labels, and how to keep it from telling."""

from tacit.scores.separation import Separation, codomain_gap, separate

__all__ = ["Separation", "codomain_gap", "separate"]
