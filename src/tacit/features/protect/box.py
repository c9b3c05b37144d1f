"""The public box that values are clipped to, and the public grid on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput

__all__ = ["STEPS", "Box"]

STEPS = 1024
"""Grid steps from the middle of the box to its side; noise is of whole steps."""

_LIMIT = 1e150  # a side whose square is still a number


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """Public bounds of every feature; what lies outside is moved to the nearest side.

    The middle of the box is step 0 and its sides are steps -1024 and 1024 for every feature, so the same integer noise
    on all of them is noise in proportion to each feature's width.

    Parameters
    ----------
    lower, upper
        One number for all features, or one a feature; chosen without looking at the data.

    Examples
    --------
    >>> box = Box(lower=(0.0, -1.0), upper=(1.0, 1.0))
    >>> box.snap([[0.5, 3.0]])
    array([[   0, 1024]])
    >>> box.values(np.array([[512, -1024]]))
    array([[ 0.75, -1.  ]])
    """

    lower: float | tuple[float, ...]
    upper: float | tuple[float, ...]

    def __post_init__(self) -> None:
        low, high = np.asarray(self.lower, dtype=np.float64), np.asarray(self.upper, dtype=np.float64)
        if low.ndim > 1 or (low.ndim and high.ndim and low.shape != high.shape):
            raise InvalidInput(f"lower and upper must have one number a feature, got {low.size} and {high.size}")
        if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
            raise InvalidInput(f"lower must be below upper and both finite, got {self.lower!r} and {self.upper!r}")
        if max(np.abs(low).max(), np.abs(high).max()) > _LIMIT:
            raise InvalidInput(f"lower and upper must be at most {_LIMIT:g} in size; measure in larger units")
        with np.errstate(divide="ignore", over="ignore"):
            if not np.isfinite(STEPS / ((high - low) / 2)).all():  # 0 times infinity would leave every box
                raise InvalidInput(f"lower and upper must lie further apart, got {self.lower!r} and {self.upper!r}")
        for name, side in (("lower", low), ("upper", high)):
            object.__setattr__(self, name, tuple(side.tolist()) if side.ndim else float(side))

    @classmethod
    def symmetric(cls, bound: float) -> Box:
        """Return [-bound, bound] for every feature.

        Examples
        --------
        >>> Box.symmetric(2.0)
        Box(lower=-2.0, upper=2.0)
        """
        return cls(lower=-bound, upper=bound)

    @property
    def middle(self) -> NDArray[np.float64]:
        """The middle of the box.

        Examples
        --------
        >>> Box(lower=0.0, upper=1.0).middle
        array(0.5)
        """
        return np.asarray((np.asarray(self.lower) + np.asarray(self.upper)) / 2)

    @property
    def half(self) -> NDArray[np.float64]:
        """Half the box's width.

        Examples
        --------
        >>> Box(lower=0.0, upper=1.0).half
        array(0.5)
        """
        return np.asarray((np.asarray(self.upper) - np.asarray(self.lower)) / 2)

    def check_features(self, features: int) -> None:
        """Raise unless the box has one width, or one for each of ``features``.

        Examples
        --------
        >>> Box(lower=(0.0, 0.0), upper=(1.0, 1.0)).check_features(3)
        Traceback (most recent call last):
        ...
        tacit.privacy.errors.InvalidInput: lower and upper must have one number for each of 3 features, got 2
        """
        if self.half.ndim and len(self.half) != features:
            raise InvalidInput(
                f"lower and upper must have one number for each of {features} features, got {len(self.half)}"
            )

    def take(self, features: ArrayLike) -> Box:
        """Return the box of some features, in their order.

        Examples
        --------
        >>> Box(lower=(0.0, -1.0), upper=(1.0, 1.0)).take([1])
        Box(lower=(-1.0,), upper=(1.0,))
        """
        if not self.half.ndim:
            return self
        chosen = np.asarray(features)
        return Box(
            lower=tuple(np.asarray(self.lower)[chosen].tolist()), upper=tuple(np.asarray(self.upper)[chosen].tolist())
        )

    def snap(self, values: ArrayLike) -> NDArray[np.int64]:
        """Return rows as whole steps in -1024..1024.

        Each row is moved by itself, so any rounding is as private as another; what counts is that no step leaves
        -1024..1024.

        Examples
        --------
        >>> Box.symmetric(1.0).snap([[0.25, -7.0]])
        array([[  256, -1024]])
        """
        rows = np.asarray(values, dtype=np.float64)
        if not np.isfinite(rows).all():
            raise InvalidInput("features must be finite, got NaN or infinity; drop or impute those rows first")
        return self.whole_steps(rows).astype(np.int64)

    def whole_steps(self, finite: NDArray[Any]) -> NDArray[Any]:
        """Return the same as floats, of values that are known to be finite: whole numbers, at the speed of floats.

        float32 stays float32, twice as fast, where it holds the middle of the box exactly.

        Examples
        --------
        >>> Box.symmetric(1.0).whole_steps(np.array([[0.25, -7.0]]))
        array([[  256., -1024.]])
        """
        narrow = finite.dtype == np.float32 and bool((self.middle == self.middle.astype(np.float32)).all())
        kind = np.float32 if narrow else np.float64
        scaled = finite - self.middle.astype(kind)
        scaled *= (STEPS / self.half).astype(kind)
        np.rint(scaled, out=scaled)
        np.clip(scaled, -STEPS, STEPS, out=scaled)
        return np.asarray(scaled)

    def values(self, steps: ArrayLike) -> NDArray[np.float64]:
        """Return steps as values.

        Examples
        --------
        >>> Box.symmetric(1.0).values([512])
        array([0.5])
        """
        return np.asarray(self.middle + np.asarray(steps, dtype=np.float64) * (self.half / STEPS))
