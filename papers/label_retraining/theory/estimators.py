"""The linear classifiers of the theory: from given labels, from predicted ones, and from the features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput

__all__ = ["leading_direction", "predict", "retrain", "train"]

Array = NDArray[np.float64]


def train(features: Array, labels: Array) -> Array:
    """Return theta_0 = (1/n) sum of label_i x_i, labels +1 or -1.

    References
    ----------
    Das et al. (2024), Eq. (4.3).

    Examples
    --------
    >>> train(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, -1.0]))
    array([-1., -1.])
    """
    if features.ndim != 2 or labels.shape != features.shape[:1] or not len(labels):
        raise InvalidInput(f"labels must be one for each row of features, got {labels.shape} for {features.shape}")
    return np.asarray(labels @ features / len(labels))


def predict(features: Array, theta: Array) -> Array:
    """Return sign(<x, theta>), +1 on the boundary.

    Examples
    --------
    >>> predict(np.array([[1.0], [-2.0]]), np.array([0.5]))
    array([ 1., -1.])
    """
    return np.where(features @ theta >= 0, 1.0, -1.0)


def retrain(features: Array, theta: Array) -> Array:
    """Return theta_1: the classifier trained on the labels that ``theta`` predicts for the same rows.

    References
    ----------
    Das et al. (2024), Eq. (4.7).

    Examples
    --------
    >>> retrain(np.array([[1.0], [-2.0]]), np.array([0.5]))
    array([1.5])
    """
    return train(features, predict(features, theta))


def leading_direction(features: Array, noisy: Array) -> Array:
    """Return the direction of most variance, its sign by majority of the given labels.

    Along mu the features vary by gamma^2 E(1+u)^2; where that is above the variance off mu, the features alone reveal
    mu up to its sign. Labels are needed for the sign only, about 1/(1-2p)^2 of them whatever d: the printed lower
    bound on n, of order d/(1-2p)^2, is false.

    References
    ----------
    Das et al. (2024), Theorem 4.6 (false). docs/proofs/labels_theory.md, "No lower bound of order d".

    Examples
    --------
    >>> leading_direction(np.array([[3.0, 0.1], [-3.0, 0.0]]), np.array([1.0, -1.0])).round(2)
    array([1.  , 0.02])
    """
    _, vectors = np.linalg.eigh(features.T @ features)
    direction = vectors[:, -1]
    agreement = float(noisy @ predict(features, direction))
    return np.asarray(direction if agreement >= 0 else -direction)
