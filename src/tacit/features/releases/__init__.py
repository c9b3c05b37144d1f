"""Releases of features: how they are made, and what they hold."""

__all__: list[str] = []
