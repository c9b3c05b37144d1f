"""Scores that are released for submissions, and offers to answer them."""

from tacit.scores.releases.release import Release

__all__ = ["Release"]
