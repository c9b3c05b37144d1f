"""Mixtures of normal distributions of scale 1, cut into cells of output."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.distribution import LossDistribution

__all__ = ["REACH", "GaussianMixture", "on_cells", "revealed"]

Array = NDArray[np.float64]

REACH = 12.0
"""A normal distribution has less than 1e-32 farther from its mean than this."""

_UNIT = 2.0**-53


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianMixture:
    """A mixture of N(mean, 1) with these weights, and a chance that everything is revealed."""

    weights: tuple[float, ...]
    means: tuple[float, ...]
    elsewhere: float = 0.0

    def cells(self, edges: Array) -> tuple[Array, Array]:
        """Return the mass between each edge and the next, and the most by which rounding may move it."""
        mass, error = np.zeros(len(edges) - 1), np.zeros(len(edges) - 1)
        for weight, mean in zip(self.weights, self.means, strict=True):
            between, off = _cells(edges - mean)
            mass += weight * between
            error += weight * off
        return mass, error

    def above(self, edge: float) -> float:
        """Return the mass above an edge, rounded up, with what is revealed."""
        from scipy.special import ndtr

        tails = (weight * float(ndtr(mean - edge)) for weight, mean in zip(self.weights, self.means, strict=True))
        return sum(tails) * (1 + 1e-9) + self.elsewhere


def _cells(edges: Array) -> tuple[Array, Array]:
    """For N(0, 1): differences of the tails on the side where they are small."""
    from scipy.special import ndtr  # a fifth of a second of import that few losses need

    below, above = ndtr(edges), ndtr(-edges)
    right = edges[:-1] > 0
    masses = np.where(right, above[:-1] - above[1:], below[1:] - below[:-1])
    largest = np.where(right, above[:-1], below[1:])
    steep = 4 + edges[:-1] ** 2 + edges[1:] ** 2  # a tail's relative error grows with the square of its place
    return np.maximum(masses, 0.0), 4 * _UNIT * largest * np.where(np.isfinite(steep), steep, 4.0)


def on_cells(lower: int, edges: Array, *, P: GaussianMixture, Q: GaussianMixture, h: float) -> LossDistribution:
    """Return the loss between P and Q of an output, whose loss grows and is lower h, (lower + 1) h, ... at the edges.

    Outputs below the first edge count as if they were at it, outputs above the last as infinite loss.
    """
    p, p_error = P.cells(np.append(-np.inf, edges[1:]))
    q, q_error = Q.cells(edges)
    odds = np.exp(np.minimum((lower + np.arange(len(p))) * h, 700.0))
    rounding, infinity = p_error + odds * q_error, P.above(float(edges[-1]))
    return LossDistribution.from_cells(lower, p, q, rounding=rounding, infinity=infinity, interval=h)


def revealed(chance: float) -> LossDistribution:
    """Reveal everything with this probability, else nothing: an upper bound for any mechanism that samples so."""
    return LossDistribution(0, np.array([1 - chance]), chance)
