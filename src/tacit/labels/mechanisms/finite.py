"""Class codes and priors as mechanisms take them, and class counts from what they released."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput

__all__ = ["check_codes", "check_prior", "estimate_counts"]


def estimate_counts(transition: NDArray[np.float64], observed: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return an unbiased estimate of the true class counts; entries may be negative, their sum is exact.

    Solves T' n = c for the observed counts c.

    References
    ----------
    Formula sheet a3.

    Examples
    --------
    >>> estimate_counts(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([0, 0, 1, 1]))
    array([2., 2.])
    """
    counts = np.bincount(observed, minlength=transition.shape[1]).astype(np.float64)
    if np.linalg.matrix_rank(transition) < len(transition):
        raise InvalidInput("class counts cannot be estimated: this mechanism maps two labels to the same outputs")
    return np.asarray(np.linalg.solve(transition.T, counts), dtype=np.float64)


def check_prior(prior: ArrayLike, *, classes: int) -> NDArray[np.float64]:
    """Return a prior over ``classes`` classes as floats, or raise if it is none."""
    weights = np.asarray(prior, dtype=np.float64)
    if weights.shape[-1:] != (classes,):
        raise InvalidInput(
            f"must have one entry for each of {classes} classes, got shape {weights.shape}", field="prior"
        )
    sums = weights.sum(axis=-1)
    worst = float(np.atleast_1d(sums)[np.argmax(np.abs(np.atleast_1d(sums) - 1))])
    if not np.isfinite(weights).all() or (weights < 0).any() or abs(worst - 1) > 1e-6:
        raise InvalidInput(f"must be >= 0 and sum to 1, got a sum of {worst:.6g}", field="prior")
    return np.asarray(weights / sums[..., None])


def check_codes(codes: ArrayLike, *, classes: int) -> NDArray[np.int64]:
    """Return class codes as int64, or raise if one is not in 0..classes-1."""
    array = np.asarray(codes)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise InvalidInput(f"must be a column of integers, got {array.dtype} of shape {array.shape}", field="labels")
    result = array.astype(np.int64, copy=False)
    if len(result) and (result.min() < 0 or result.max() >= classes):
        bad = int(result.min() if result.min() < 0 else result.max())
        raise InvalidInput(f"must be in 0..{classes - 1}, got {bad}", field="labels")
    return result
