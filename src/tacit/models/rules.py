"""Rules that settings of several mechanisms and methods share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.privacy.settings import about

__all__ = ["count", "positive"]


def count(help: str) -> Mapping[str, Any]:
    """Return the metadata of a field that is an integer >= 1."""
    return about(help, rule="an integer >= 1", holds=lambda value: value >= 1)


def positive(help: str) -> Mapping[str, Any]:
    """Return the metadata of a field that is a finite number > 0."""
    return about(help, rule="a finite number > 0", holds=lambda value: 0 < value < float("inf"))
