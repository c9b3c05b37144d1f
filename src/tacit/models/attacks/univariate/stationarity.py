"""Which points on the margin the network's own weights require: non-negative least squares on the KKT equations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.models.network import TwoLayerReLU
from tacit.models.nonnegative import solve_nonnegative
from tacit.models.points import Floats

__all__ = ["WeightExplanation", "explain_weights", "residual_of"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WeightExplanation:
    """How well multipliers l >= 0 on given points explain the weights, and how much each point is needed.

    ``residual`` is |theta - sum_i l_i y_i grad Phi(x_i)| / |theta| at its least; ``without`` has it with each point
    left out in turn.
    """

    multipliers: Floats
    residual: float
    without: Floats


def explain_weights(
    network: TwoLayerReLU, points: Floats, labels: NDArray[np.int64], *, kink: float = 1e-7
) -> WeightExplanation:
    """Return the multipliers l >= 0 that bring sum_i l_i y_i grad Phi(x_i) closest to the weights.

    The network has one feature, and its neurons are merged by direction. A point on a neuron's breakpoint, where
    |w x + b| <= kink |(w, b)| |(x, 1)|, leaves that neuron's derivative free in [0, 1]; it then counts with all
    combinations of the ends of that interval, one for neurons open to the right and one for those open to the left.

    References
    ----------
    Paper 004, Eqs. (2), (7) to (9); Haim et al. (2022).
    """
    unit, lengths, owner, target = _system(network, points, labels, kink)
    weights, residual = _solve(unit, target)
    without = np.full(len(points), residual)
    for i in np.unique(owner[weights > 0]):  # a point of multiplier 0 is not missed
        without[i] = _solve(unit[:, owner != i], target)[1]
    multipliers = np.bincount(owner, weights=weights / lengths, minlength=len(points))
    return WeightExplanation(
        multipliers=multipliers * np.sqrt(network.squared_norm), residual=residual, without=without
    )


def residual_of(network: TwoLayerReLU, points: Floats, labels: NDArray[np.int64], *, kink: float = 1e-7) -> float:
    """Return the residual of :func:`explain_weights` alone."""
    unit, _, _, target = _system(network, points, labels, kink)
    return _solve(unit, target)[1]


def _system(
    network: TwoLayerReLU, points: Floats, labels: NDArray[np.int64], kink: float
) -> tuple[Floats, Floats, NDArray[np.intp], Floats]:
    """Return the columns at unit length, their lengths, the point of each, and theta/|theta|."""
    columns, owner = _columns(network, points, labels, kink)
    lengths = np.linalg.norm(columns, axis=0)
    lengths[lengths == 0] = 1.0
    theta = np.concatenate([network.outputs, network.weights[:, 0], network.biases])
    return columns / lengths, lengths, owner, theta / np.linalg.norm(theta)


def _solve(columns: Floats, target: Floats) -> tuple[Floats, float]:
    """Return x >= 0 of least |columns x - target|, and that length."""
    weights = solve_nonnegative(columns, target)
    return weights, float(np.linalg.norm(target - columns @ weights))


def _columns(
    network: TwoLayerReLU, points: Floats, labels: NDArray[np.int64], kink: float
) -> tuple[Floats, NDArray[np.intp]]:
    """Return y_i grad Phi(x_i) as columns, up to four per point, and the point of each."""
    w, b, v = network.weights[:, 0], network.biases, network.outputs
    columns, owner = [], []
    for i, (x, y) in enumerate(zip(points, labels, strict=True)):
        height = w * x + b
        bent = np.abs(height) <= kink * np.hypot(w, b) * np.hypot(x, 1)
        on = (height > 0) & ~bent
        right, left = bent & (w > 0), bent & (w <= 0)
        choices = {tuple(on | a | c) for a in (right, right & False) for c in (left, left & False)}
        for choice in sorted(choices):
            s = np.array(choice, dtype=np.float64)
            columns.append(y * np.concatenate([s * height * ~bent, v * s * x, v * s]))
            owner.append(i)
    return np.array(columns).T.reshape(3 * network.width, -1), np.array(owner, dtype=np.intp)
