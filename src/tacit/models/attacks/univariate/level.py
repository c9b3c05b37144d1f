"""The margin of a network whose margin is not known: the levels whose points explain the weights."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from tacit.models.attacks.univariate.function import PiecewiseLinear, find_margin
from tacit.models.attacks.univariate.stationarity import residual_of
from tacit.models.network import TwoLayerReLU

__all__ = ["find_levels"]

_EACH = 8  # levels tried between two bends
_CLOSEST = 6


def find_levels(network: TwoLayerReLU, function: PiecewiseLinear, *, tolerance: float = 1e-8) -> NDArray[np.float64]:
    """Return the levels m at which points with |Phi(x)| = m explain the weights, the most likely first.

    At a KKT point the residual is 0 at the true margin, but seldom there alone: at other levels other points satisfy
    the same conditions. The function's values at breakpoints come first, for training points often lie there; then
    levels between them, the best ones refined. ``network`` and ``function`` are the same network, its neurons
    merged. All levels with a residual of at most ``tolerance`` are returned, or the best one if there is none.

    References
    ----------
    Paper 004, Section 2, where m is unknown in general; arXiv 2509.21296.
    """

    def residual(log_level: float) -> float:
        on = find_margin(function, margin=float(np.exp(log_level)), tolerance=tolerance)
        return residual_of(network, on.points, on.labels, kink=tolerance)

    bends = np.log(np.abs(function.values)[function.values != 0])
    scale = np.log(np.abs(network.outputs * network.weights[:, 0]).sum() + np.abs(network(np.zeros((1, 1)))[0]))
    ends = np.unique(np.concatenate([bends, [scale - 12, scale + 2]]))
    inner = np.concatenate([np.linspace(low, high, _EACH + 2)[1:-1] for low, high in pairwise(ends)])
    width = np.repeat(np.diff(ends) / (_EACH + 1), _EACH)
    tried = [(residual(level), level) for level in bends]
    found = [(residual(level), level) for level in inner]
    for i in np.argsort([value for value, _ in found])[:_CLOSEST]:
        if found[i][0] > tolerance:  # between two bends the points move smoothly with the level
            around = (inner[i] - width[i], inner[i] + width[i])
            best = minimize_scalar(residual, bounds=around, method="bounded", options={"xatol": 1e-13})
            found.append((float(best.fun), float(best.x)))
    ranked = sorted(tried) + sorted(found)  # a bend at the margin is no accident: it comes first
    good = [level for value, level in ranked if value <= tolerance] or [min(ranked)[1]]
    return np.exp(_distinct(good, apart=10 * tolerance))


def _distinct(levels: list[float], *, apart: float) -> NDArray[np.float64]:
    kept: list[float] = []
    for level in levels:
        if all(abs(level - other) > apart for other in kept):
            kept.append(level)
    return np.array(kept)
