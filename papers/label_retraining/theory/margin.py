"""How far a sample lies beyond the margin: the law of u >= 0 in the Gaussian mixture with margin."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from tacit.privacy.errors import InvalidInput

__all__ = ["DiscreteMargin", "Margin", "UniformMargin", "expect", "subgaussian_norm"]

Array = NDArray[np.float64]

_LEGENDRE = np.polynomial.legendre.leggauss(200)


class Margin(Protocol):
    """The law of u >= 0.

    Examples
    --------
    >>> margin: Margin = UniformMargin(high=4.0)
    >>> round(expect(margin, lambda u: (1 + u) ** 2), 6)
    10.333333
    """

    @property
    def largest(self) -> float:
        """The least upper bound of u; infinity where there is none."""

    def draw(self, size: int, *, rng: np.random.Generator) -> Array:
        """Draw ``size`` values."""

    def nodes(self) -> tuple[Array, Array]:
        """Values and weights whose weighted sum gives expectations of smooth functions of u."""

    def log_norm(self, power: float) -> float:
        """Return log of (E u^power)^(1/power)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UniformMargin:
    """u uniform on [0, ``high``].

    Examples
    --------
    >>> UniformMargin(high=4.0).draw(3, rng=np.random.default_rng(0)).max() < 4
    np.True_
    """

    high: float

    def __post_init__(self) -> None:
        if not 0 < self.high < math.inf:
            raise InvalidInput(f"high must be a finite number > 0, got {self.high!r}; for no spread use DiscreteMargin")

    @property
    def largest(self) -> float:
        """The least upper bound of u."""
        return self.high

    def draw(self, size: int, *, rng: np.random.Generator) -> Array:
        """Draw ``size`` values.

        Examples
        --------
        >>> UniformMargin(high=2.0).draw(2, rng=np.random.default_rng(0)).shape
        (2,)
        """
        return rng.uniform(0.0, self.high, size)

    def nodes(self) -> tuple[Array, Array]:
        """Return Gauss-Legendre nodes and weights.

        Examples
        --------
        >>> values, weights = UniformMargin(high=2.0).nodes()
        >>> round(float(weights @ values), 12)
        1.0
        """
        points, weights = _LEGENDRE
        return (points + 1) / 2 * self.high, weights / 2

    def log_norm(self, power: float) -> float:
        """Return log of (E u^power)^(1/power).

        Examples
        --------
        >>> round(math.exp(UniformMargin(high=4.0).log_norm(1.0)), 12)
        2.0
        """
        return math.log(self.high) - math.log(power + 1) / power


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteMargin:
    """u takes finitely many values; ``values=(0.0,)`` puts every sample on the margin.

    Examples
    --------
    >>> rare = DiscreteMargin(values=(0.0, 6.128), probabilities=(0.999, 0.001))
    >>> round(subgaussian_norm(rare), 3)
    1.0
    """

    values: tuple[float, ...]
    probabilities: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        if not self.values or len(self.values) != len(self.probabilities):
            raise InvalidInput(
                f"values and probabilities must be as many, got {len(self.values)} and {len(self.probabilities)}"
            )
        if not all(0 <= value < math.inf for value in self.values):
            raise InvalidInput(f"values must be finite numbers >= 0, got {self.values!r}")
        if min(self.probabilities) < 0 or abs(sum(self.probabilities) - 1) > 1e-9:
            raise InvalidInput(f"probabilities must be >= 0 and sum to 1, got {self.probabilities!r}")

    @property
    def largest(self) -> float:
        """The largest value."""
        return max(self.values)

    def draw(self, size: int, *, rng: np.random.Generator) -> Array:
        """Draw ``size`` values.

        Examples
        --------
        >>> DiscreteMargin(values=(0.5,)).draw(2, rng=np.random.default_rng(0))
        array([0.5, 0.5])
        """
        place = np.searchsorted(np.cumsum(self.probabilities)[:-1], rng.random(size), side="right")
        return np.asarray(self.values, dtype=np.float64)[place]

    def nodes(self) -> tuple[Array, Array]:
        """Return the values and their probabilities.

        Examples
        --------
        >>> DiscreteMargin(values=(0.0,)).nodes()
        (array([0.]), array([1.]))
        """
        return np.asarray(self.values, dtype=np.float64), np.asarray(self.probabilities, dtype=np.float64)

    def log_norm(self, power: float) -> float:
        """Return log of (E u^power)^(1/power).

        Examples
        --------
        >>> DiscreteMargin(values=(1.0,)).log_norm(3.0)
        0.0
        """
        values, weights = self.nodes()
        with np.errstate(divide="ignore"):
            return float(logsumexp(power * np.log(values), b=weights)) / power


def expect(margin: Margin, function: Callable[[Array], Array]) -> float:
    """Return E f(u).

    Examples
    --------
    >>> expect(DiscreteMargin(values=(0.0, 1.0), probabilities=(0.5, 0.5)), lambda u: 1 + u)
    1.5
    """
    values, weights = margin.nodes()
    return float(weights @ function(values))


def subgaussian_norm(margin: Margin) -> float:
    """Return the sub-gaussian norm sup over q >= 1 of q^(-1/2) (E u^q)^(1/q).

    The paper sets it to 1 "without loss of generality". It is an assumption: scaling u changes the model. Its own
    Figure 1 has u uniform on [0, 4], of norm 2.

    References
    ----------
    Das et al. (2024), Section 3 (notation) and Section 4 (problem setting). Formula sheet (k).

    Examples
    --------
    >>> round(subgaussian_norm(UniformMargin(high=4.0)), 9), round(subgaussian_norm(UniformMargin(high=2.0)), 9)
    (2.0, 1.0)
    """

    def loss(log_power: float) -> float:
        return log_power / 2 - margin.log_norm(math.exp(log_power))

    # coarse, then fine: the supremum need not be the only local one
    grid = np.linspace(0.0, math.log(1e4), 400)
    best = int(np.argmin([loss(point) for point in grid]))
    around = (grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)])
    found = minimize_scalar(loss, bounds=around, method="bounded", options={"xatol": 1e-12})
    return math.exp(-min(float(found.fun), loss(float(grid[best]))))
