"""Learners of randomized labels."""

__all__: list[str] = []
