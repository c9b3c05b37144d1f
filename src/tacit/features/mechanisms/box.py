"""The public box that values are clipped to, and the public grid on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput

__all__ = ["STEPS", "FeatureRanges"]

STEPS = 1024
"""Grid steps from the middle of the box to its side; noise is of whole steps."""

_LIMIT = 1e150  # a side whose square is still a number


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureRanges:
    """Public ranges of features, chosen without looking at the data; a value outside is moved to the nearest side.

    The middle of the box is step 0 and its sides are steps -1024 and 1024 for every feature, so the same integer noise
    on all of them is noise in proportion to each feature's width.
    """

    lower: tuple[float, ...]
    upper: tuple[float, ...]

    def __post_init__(self) -> None:
        low, high = np.asarray(self.lower, dtype=np.float64), np.asarray(self.upper, dtype=np.float64)
        if max(np.abs(low).max(initial=0), np.abs(high).max(initial=0)) > _LIMIT:
            raise InvalidInput(f"must be at most {_LIMIT:g} in size; measure in larger units", field="ranges")
        with np.errstate(divide="ignore", over="ignore"):
            narrow = ~np.isfinite(STEPS / ((high - low) / 2))  # 0 times infinity would be outside of every box
        if narrow.any():
            j = int(narrow.argmax())
            raise InvalidInput(f"must be wider, got {self.lower[j]!r} to {self.upper[j]!r}", field="ranges")

    @property
    def features(self) -> int:
        """How many features there are."""
        return len(self.lower)

    @property
    def middle(self) -> NDArray[np.float64]:
        """The middle of each range."""
        return np.asarray((np.asarray(self.lower) + np.asarray(self.upper)) / 2)

    @property
    def half(self) -> NDArray[np.float64]:
        """Half the width of each range."""
        return np.asarray((np.asarray(self.upper) - np.asarray(self.lower)) / 2)

    def take(self, features: Sequence[int] | NDArray[np.int64]) -> FeatureRanges:
        """Return the box of some features, in their order."""
        return FeatureRanges(lower=tuple(self.lower[j] for j in features), upper=tuple(self.upper[j] for j in features))

    def snap(self, values: ArrayLike) -> NDArray[np.int64]:
        """Return rows as whole steps in -1024..1024.

        Each row is moved by itself, so any rounding is as private as another; what counts is that no step is outside
        of -1024..1024.
        """
        rows = np.asarray(values, dtype=np.float64)
        if not np.isfinite(rows).all():
            raise InvalidInput("must be finite, got NaN or infinity; drop or impute those rows first", field="features")
        return self.whole_steps(rows).astype(np.int64)

    def whole_steps(self, finite: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the same as floats, of values that are known to be finite: integers, at the speed of floats."""
        scaled = finite - self.middle
        scaled *= STEPS / self.half
        np.rint(scaled, out=scaled)
        np.clip(scaled, -STEPS, STEPS, out=scaled)
        return np.asarray(scaled)

    def values(self, steps: ArrayLike) -> NDArray[np.float64]:
        """Return steps as values."""
        return np.asarray(self.middle + np.asarray(steps, dtype=np.float64) * (self.half / STEPS))
