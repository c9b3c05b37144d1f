"""A number measured with several seeds: its values, and their mean and deviation as a table prints them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Points = Mapping[str, Mapping[str, Any]]


def values(points: Points, start: str, what: str) -> list[float]:
    """Return a number of every seed, in percent."""
    return [100 * points[key][what] for key in sorted(points) if key.startswith(start) and what in points[key]]


def summary(found: Sequence[float]) -> str:
    """Return mean and deviation; nothing where there is nothing."""
    if not found:
        return ""
    return f"{np.mean(found):.2f}" + (f" ± {np.std(found, ddof=1):.2f}" if len(found) > 1 else "")
