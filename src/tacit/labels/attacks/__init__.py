"""Attacks on randomized labels: the best guess of each, canaries, and whether noise was added."""

__all__: list[str] = []
