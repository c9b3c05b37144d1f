"""The trade-off curve of a privacy loss: what every test of two neighbors must miss."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.distribution import LARGEST, LossDistribution

__all__ = ["trade_off_curve"]

Array = NDArray[np.float64]

_TANGENTS = 200
_NEGLIGIBLE = 1e-6  # the curve below this probability is taken for 0


def trade_off_curve(distribution: LossDistribution) -> Callable[[Array], Array]:
    """Return the least probability under one record of an event that has probability y under the other, from below.

    g(y) is the largest of e^-epsilon (y - delta(epsilon)), 1 - delta(epsilon) - e^epsilon (1 - y) and 0 over a grid of
    epsilon: a maximum of lines under the curve, so it is convex. For a pair that is its own mirror image.

    References
    ----------
    Dong, Roth and Su (2022), Proposition 2.12.
    """
    epsilons = np.linspace(0.0, min(distribution.epsilon_at(_NEGLIGIBLE), LARGEST), _TANGENTS)
    deltas = np.array([distribution.delta_at(epsilon) for epsilon in epsilons])
    ratios = np.exp(epsilons)

    def least(y: Array) -> Array:
        hit = np.minimum(y, 1.0)[..., None]
        found = np.maximum((hit - deltas) / ratios, 1 - deltas - ratios * (1 - hit))
        return np.asarray(np.maximum(found.max(axis=-1), 0.0))

    return least
