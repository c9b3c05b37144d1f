"""Class codes and priors as mechanisms take them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput

__all__ = ["check_codes", "check_prior"]


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
