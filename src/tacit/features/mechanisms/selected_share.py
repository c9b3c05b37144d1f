"""The share of the features with a difference that noisy selection finds."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, ndtr

from tacit.privacy.errors import InvalidInput

__all__ = ["mean_gap_tail", "share_found"]


def mean_gap_tail(x: ArrayLike, *, deviation: float, noise: float = 0.0) -> NDArray[np.float64]:
    """Return P(N + L > x) for a Gaussian N of this standard deviation and Laplace noise L of scale ``noise``.

    With b the scale and s the deviation: Q(x/s) + e^(s^2/2b^2)/2 [e^(-x/b) Phi(x/s - s/b) - e^(x/b) Q(x/s + s/b)].
    """
    v = np.asarray(x, dtype=np.float64)
    if not deviation > 0 or not noise >= 0:
        raise InvalidInput(f"must be > 0 and noise >= 0, got {deviation!r} and {noise!r}", field="deviation")
    z = v / deviation
    if noise == 0:
        return np.asarray(ndtr(-z))
    r = deviation / noise
    up = np.exp(r * r / 2 - v / noise + log_ndtr(z - r))
    down = np.exp(r * r / 2 + v / noise + log_ndtr(-z - r))
    return np.clip(ndtr(-z) + (up - down) / 2, 0.0, 1.0)


def share_found(gap: float, *, chosen: int, others: int, deviation: float, noise: float = 0.0) -> float:
    """Return the share of ``chosen`` features that differ by ``gap`` which selection among ``others`` should find.

    Selection takes as many as differ, so it cuts where the expected number of scores above is ``chosen``. A feature
    without a difference scores |N| + L, and |N| is taken as a Gaussian of its mean and deviation. N is the distance of
    two class means, L the Laplace noise on the scores, ``noise`` its scale.
    """
    from scipy.optimize import brentq  # a quarter of a second of import that a plan without a selection does not need

    folded, left = deviation * math.sqrt(2 / math.pi), deviation * math.sqrt(1 - 2 / math.pi)

    def too_many(y: float) -> float:
        differ = mean_gap_tail(y - gap, deviation=deviation, noise=noise)
        return float(chosen * differ + others * mean_gap_tail(y - folded, deviation=left, noise=noise) - chosen)

    reach = gap + 40 * (deviation + noise)
    y = brentq(too_many, -reach, reach)
    return float(mean_gap_tail(y - gap, deviation=deviation, noise=noise))
