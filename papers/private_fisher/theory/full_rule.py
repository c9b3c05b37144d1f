"""The least error that any rule of the features can have."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm

from tacit.privacy.errors import InvalidInput

__all__ = ["full_rule_error"]


def full_rule_error(gaps: ArrayLike, covariance: ArrayLike) -> float:
    """Return the error 1 - Phi(sqrt(alpha' Sigma^-1 alpha)/2) of Fisher's rule with known means and covariance.

    No rule of these features does better; it is what the others are measured against.

    References
    ----------
    Fan and Fan (2008), (3).

    Examples
    --------
    >>> round(full_rule_error([2.0, 0.0], [[1.0, 0.5], [0.5, 1.0]]), 4)
    0.1241
    """
    alpha = np.asarray(gaps, dtype=np.float64)
    sigma = np.asarray(covariance, dtype=np.float64)
    if sigma.shape != (len(alpha), len(alpha)):
        raise InvalidInput(f"covariance must be {len(alpha)} x {len(alpha)}, got shape {sigma.shape}")
    return float(norm.sf(np.sqrt(alpha @ np.linalg.solve(sigma, alpha)) / 2))
