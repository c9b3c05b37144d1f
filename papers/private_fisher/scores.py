"""The paper's score of a feature and the t-statistic that it is compared with, both without privacy."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput

__all__ = ["by_distance", "by_t_statistic"]

Vector = NDArray[np.float64]


def by_distance(X: ArrayLike, codes: ArrayLike) -> Vector:
    """Return D_j = max over pairs of classes of the distance of their means: the paper's score, without privacy.

    References
    ----------
    The feature-release paper, Algorithm 1, line 3.

    Examples
    --------
    >>> by_distance([[0.0, 1.0], [4.0, 1.0], [0.0, 3.0]], [0, 1, 2])
    array([4., 2.])
    """
    groups = _groups(X, codes)
    means = np.stack([group.mean(axis=0) for group in groups])
    return np.asarray(means.max(axis=0) - means.min(axis=0))


def by_t_statistic(X: ArrayLike, codes: ArrayLike) -> Vector:
    """Return the largest |t| over pairs of classes, without privacy; 0 where a feature does not vary.

    t = (mean_1 - mean_2) / sqrt(s_1^2/n_1 + s_2^2/n_2).

    References
    ----------
    Fan and Fan (2008), Section 3.

    Examples
    --------
    >>> by_t_statistic([[0.0, 1.0], [1.0, 1.0], [4.0, 1.0], [5.0, 1.0]], [0, 0, 1, 1]).round(4)
    array([5.6569, 0.    ])
    """
    groups = _groups(X, codes)
    if min(len(group) for group in groups) < 2:
        raise InvalidInput("a t-statistic needs at least two rows of each class")
    means = [group.mean(axis=0) for group in groups]
    errors = [group.var(axis=0, ddof=1) / len(group) for group in groups]
    largest = np.zeros(len(means[0]))
    for a, b in combinations(range(len(groups)), 2):
        spread = np.sqrt(errors[a] + errors[b])
        gap = np.abs(means[a] - means[b])
        np.maximum(largest, np.divide(gap, spread, out=np.zeros_like(gap), where=spread > 0), out=largest)
    return largest


def _groups(X: ArrayLike, codes: ArrayLike) -> list[Vector]:
    rows, classes = np.asarray(X, dtype=np.float64), np.asarray(codes)
    if rows.ndim != 2 or len(rows) != len(classes):
        raise InvalidInput(
            f"X must be rows of features with one label each, got {rows.shape} and {len(classes)} labels"
        )
    if not np.isfinite(rows).all():
        raise InvalidInput("X must be finite, got NaN or infinity; drop or impute those rows first")
    found = [rows[classes == c] for c in np.unique(classes)]
    if len(found) < 2:
        raise InvalidInput("labels must be of at least two classes, got one")
    return found
