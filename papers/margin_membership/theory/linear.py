"""A linear model that interpolates its labels: the baseline that any attack at a margin has to be held against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.models.margin.labels import check_points, signs_of

__all__ = ["LinearInterpolator", "interpolate_labels"]

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearInterpolator:
    """w . x + b, made by :func:`interpolate_labels`.

    Examples
    --------
    >>> LinearInterpolator(weights=np.array([2.0]), bias=1.0)([[3.0]])
    array([7.])
    """

    weights: Vector
    bias: float

    def __call__(self, X: ArrayLike) -> Vector:
        """Return the output of each row."""
        return np.asarray(check_points(X) @ self.weights + self.bias)


def interpolate_labels(X: ArrayLike, y: ArrayLike) -> LinearInterpolator:
    """Fit labels -1 and +1 by least squares; of all solutions the one of least |w|^2 + b^2.

    With n <= d + 1 points in general position every training point has output -1 or +1 exactly: it ties its training
    points as a network at the margin does, without being one.

    Parameters
    ----------
    X, y
        Points, and labels of any two values.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(5, 10)), [0, 1, 1, 0, 1]
    >>> interpolate_labels(X, y)(X).round(6)
    array([-1.,  1.,  1., -1.,  1.])
    """
    rows = check_points(X)
    lifted = np.c_[rows, np.ones(len(rows))]
    solution = np.linalg.lstsq(lifted, signs_of(y, rows=len(rows)), rcond=None)[0]
    return LinearInterpolator(weights=np.asarray(solution[:-1], dtype=np.float64), bias=float(solution[-1]))
