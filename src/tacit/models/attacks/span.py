"""Membership from weights: a stationary network's neurons lie in the span of its training points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tacit.leak import Leak
from tacit.models.attacks.membership import measure_membership
from tacit.models.attacks.outputs import check_apart
from tacit.models.margin.labels import check_points
from tacit.models.network import TwoLayerReLU
from tacit.models.points import Floats
from tacit.privacy.errors import InvalidInput

__all__ = ["WeightSpan", "attack_weights", "find_span"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WeightSpan:
    """The directions that a network's neurons (w_j, b_j) span, as far as their singular values stand out.

    ``basis`` has orthonormal rows in d + 1 dimensions; ``singular_values`` are those of all neurons, falling.
    """

    basis: Floats
    singular_values: Floats

    @property
    def rank(self) -> int:
        """The number of directions: the number of training points, if the activations distinguish them all."""
        return len(self.basis)

    def score(self, X: ArrayLike) -> Floats:
        """Return minus the sine of the angle between (x, 1) and the span: 0 for training points, below for others."""
        rows = check_points(X)
        if rows.shape[1] + 1 != self.basis.shape[1]:
            raise InvalidInput(
                f"X must have {self.basis.shape[1] - 1} columns, as the network has, got {rows.shape[1]}"
            )
        lifted = np.c_[rows, np.ones(len(rows))]
        outside = lifted - lifted @ self.basis.T @ self.basis
        return np.asarray(-np.linalg.norm(outside, axis=1) / np.linalg.norm(lifted, axis=1))


def find_span(network: TwoLayerReLU, *, rank: int | None = None) -> WeightSpan:
    """Return the directions in which a network's neurons moved away from where they began.

    Stationarity makes (w_j, b_j) = v_j sum_i l_i y_i s_ij (x_i, 1): gradients move a neuron only within the span of
    the points (x_i, 1). The rest is what is left of the first weights, small where these were small.

    Parameters
    ----------
    rank
        How many directions to keep; without it, the fewest after which the rest looks like Gaussian noise: its
        largest singular value within a tenth of sigma (sqrt(width) + sqrt(left over dimensions)), sigma^2 its mean
        square. That is the number of training points, if the activations distinguish them all.

    References
    ----------
    Equations (8) and (9) of paper 004; that the span reveals members is ours (docs/models_margin.md). Marchenko and
    Pastur (1967) for the edge of the noise.
    """
    values, directions = np.linalg.svd(np.c_[network.weights, network.biases], full_matrices=False)[1:]
    if not values[0] > 0:
        raise InvalidInput("the network's hidden weights are all zero: they span nothing")
    if rank is None:
        rank = _rank_above_noise(values, width=network.width, dimension=network.dimension + 1)
    if not 1 <= rank <= len(values):
        raise InvalidInput(
            f"must be from 1 to {len(values)}, as many as neurons and features allow, got {rank}", field="rank"
        )
    return WeightSpan(basis=directions[:rank], singular_values=values)


def _rank_above_noise(values: Floats, *, width: int, dimension: int) -> int:
    rounding = width * np.finfo(np.float64).eps * values[0]
    for rank in range(1, len(values)):
        left = dimension - rank
        sigma = np.sqrt(np.square(values[rank:]).sum() / (width * left))
        edge = 1.1 * sigma * (np.sqrt(width) + np.sqrt(left))  # where the spectrum of noise ends (Marchenko, Pastur)
        if values[rank] <= max(edge, rounding):
            return rank
    return len(values)


def attack_weights(
    network: TwoLayerReLU,
    members: ArrayLike,
    nonmembers: ArrayLike,
    *,
    rng: np.random.Generator,
    rank: int | None = None,
    level: float = 0.95,
) -> Leak:
    """Measure how well the span of a network's weights distinguishes training points from others.

    It needs more dimensions than directions, and no ties at the margin: it also finds training points off the margin.
    """
    inside, outside = check_apart(members, nonmembers)
    span = find_span(network, rank=rank)
    return measure_membership(span.score(inside), span.score(outside), rng=rng, level=level)
