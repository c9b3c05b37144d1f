"""Scores: a loss value for a submission, what it tells about the labels, and how to keep it from telling."""

__all__: list[str] = []
