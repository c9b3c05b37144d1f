"""A ratio of two unbiased sums, and the interval that covers it however near to zero the lower sum may be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["RatioEstimate"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioEstimate:
    """The ratio of ``above`` to ``below``, each an unbiased sum over rows.

    Parameters
    ----------
    moves_above, moves_below
        By how much each row moves the sums, linearized.
    """

    above: float
    below: float
    moves_above: Array
    moves_below: Array

    @property
    def value(self) -> float:
        """The ratio."""
        return self.above / self.below

    @property
    def error(self) -> float:
        """The standard error of the linearized ratio."""
        return float(np.sqrt(_product(*[self.moves_above - self.value * self.moves_below] * 2))) / abs(self.below)

    def interval(self, width: float) -> tuple[float, float]:
        """Return the ratios t for which above - t below is within ``width`` standard errors of 0.

        Without ends where ``below`` itself may be 0: then any ratio is possible.

        References
        ----------
        Fieller (1954).
        """
        a, b = self.moves_above, self.moves_below
        square = self.below**2 - width**2 * _product(b, b)
        middle = self.above * self.below - width**2 * _product(a, b)
        constant = self.above**2 - width**2 * _product(a, a)
        if square <= 0:
            return -np.inf, np.inf
        reach = float(np.sqrt(max(0.0, middle**2 - square * constant)))
        return (middle - reach) / square, (middle + reach) / square


def _product(a: Array, b: Array) -> float:
    """Return the covariance of two sums of independent rows."""
    return float(((a - a.mean()) * (b - b.mean())).sum())
