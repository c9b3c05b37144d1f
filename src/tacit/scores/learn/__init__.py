"""Learning from guarded scores: choosing among models, and what the guard costs in doing so."""

from tacit.scores.learn.choice import Choice, choose
from tacit.scores.learn.guard import GuardedScores, LaplaceGuard, RoundingGuard, ScoreGuard
from tacit.scores.learn.thresholdout import Thresholdout

__all__ = [
    "Choice",
    "GuardedScores",
    "LaplaceGuard",
    "RoundingGuard",
    "ScoreGuard",
    "Thresholdout",
    "choose",
]
