"""A public grid for real values, so that integer noise can be added to them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput
from tacit.privacy.noise.rejection import exact_positive
from tacit.privacy.rounding import exact

__all__ = ["NoiseGrid"]

_MOST = 2.0**52
_ERROR = 2.0**-50  # relative, of value / step in floats: two roundings and the step's own


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseGrid:
    """The multiples of a public step: real values become integer numbers of steps.

    A value v becomes floor(v/step + 1/2), in exact arithmetic. Halves go up, always: rounding them to even would
    move 0.5 and 1.5, which are one step apart, to 0 and 2.

    Parameters
    ----------
    step
        A rational > 0, chosen without looking at the data; a float is read as the decimal it prints.

    References
    ----------
    Mironov (2012), "On significance of the least significant bits" (why noise is not added to floats).

    Examples
    --------
    >>> from tacit.privacy.noise import DiscreteLaplace
    >>> grid = NoiseGrid(step=Fraction(1, 1024))
    >>> steps = grid.snap([0.25, 7.0], lower=0.0, upper=1.0)
    >>> steps
    array([ 256, 1024])
    >>> noise = DiscreteLaplace.for_epsilon(1.0, sensitivity=grid.sensitivity(1.0))
    >>> grid.values(steps + noise.draw(2, rng=np.random.default_rng(0))).dtype
    dtype('float64')
    """

    step: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", exact_positive(self.step, name="step"))

    def snap(self, values: ArrayLike, *, lower: float | None = None, upper: float | None = None) -> NDArray[np.int64]:
        """Return each value as an integer number of steps, clipped to public bounds if they are given.

        Parameters
        ----------
        values
            Finite real numbers, less than 2^52 steps from 0 after clipping.
        lower, upper
            Bounds that do not depend on the data.

        Examples
        --------
        >>> NoiseGrid(step=Fraction(1, 2)).snap([0.25, 0.24, -0.25])
        array([1, 0, 0])
        """
        numbers = _clip(_finite(values), lower, upper)
        scaled = numbers / float(self.step)
        if np.abs(scaled).max(initial=0.0) >= _MOST:
            worst = float(numbers.flat[np.abs(scaled).argmax()])
            raise InvalidInput(
                f"must lie less than 2^52 steps of {self.step} from 0, got {worst!r}; clip or widen the step",
                field="values",
            )
        below = np.floor(scaled)
        within = scaled - below
        steps = (below + (within >= 0.5)).astype(np.int64)
        if not self._is_power_of_two():  # else the quotient is exact
            unsure = np.abs(within - 0.5) <= _ERROR * (1 + np.abs(scaled))
            for row in np.flatnonzero(unsure):  # a float cannot decide on which side of a half these lie
                steps.flat[row] = math.floor(Fraction(float(numbers.flat[row])) / self.step + Fraction(1, 2))
        return steps

    def values(self, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return integer numbers of steps as real values."""
        return np.asarray(steps, dtype=np.float64) * float(self.step)

    def sensitivity(self, bound: float) -> int:
        """Return the most steps by which a value can move that moves by at most ``bound``: the quotient, rounded up.

        Examples
        --------
        >>> NoiseGrid(step=Fraction(1, 1024)).sensitivity(0.5), NoiseGrid(step=Fraction(1, 10)).sensitivity(0.25)
        (512, 3)
        """
        if not math.isfinite(bound) or bound < 0:
            raise InvalidInput(f"must be a finite number >= 0, got {bound!r}", field="bound")
        # a bound typed as 0.1 may mean the decimal or the float next to it: the larger counts
        return math.ceil(max(exact(bound), Fraction(bound)) / self.step)

    def _is_power_of_two(self) -> bool:
        top, bottom = self.step.numerator, self.step.denominator
        return top & (top - 1) == 0 and bottom & (bottom - 1) == 0


def _finite(values: ArrayLike) -> NDArray[np.float64]:
    given = np.asarray(values)
    if given.dtype.kind not in "fiub":
        raise InvalidInput(f"must be real numbers, got an array of {given.dtype}", field="values")
    numbers = given.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise InvalidInput("must be finite, got NaN or infinity; drop or impute those rows first", field="values")
    if given.dtype.kind != "f" and np.abs(numbers).max(initial=0.0) > 2.0**53:
        raise InvalidInput("must be at most 2^53 where they are integers; measure in larger units", field="values")
    return numbers


def _clip(numbers: NDArray[np.float64], lower: float | None, upper: float | None) -> NDArray[np.float64]:
    low, high = -math.inf if lower is None else lower, math.inf if upper is None else upper
    if not low <= high:
        raise InvalidInput(f"must be at most upper, got {lower!r} and {upper!r}", field="lower")
    return np.clip(numbers, low, high)
