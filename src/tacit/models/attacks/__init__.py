"""Attacks on trained models: membership, margins and reconstruction."""

__all__: list[str] = []
