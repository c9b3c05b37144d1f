"""K-ary randomized response on class codes: exact draws, and the matrix that undoes them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.noise.choice import keep_coin

__all__ = ["randomize_codes", "response_matrix"]


def randomize_codes(
    codes: NDArray[np.int64], *, epsilon: float, classes: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Keep each code with probability e^epsilon / (e^epsilon + K - 1), else draw another one uniformly.

    References
    ----------
    Warner (1965); Kairouz, Oh and Viswanath (2016). Formula sheet a1 to a3.
    """
    kept = keep_coin(epsilon, outcomes=classes).flip(len(codes), rng=rng)
    switched = np.flatnonzero(~kept)
    drawn = rng.integers(0, classes - 1, size=len(switched))  # of the classes but the label's own
    result = codes.copy()
    result[switched] = drawn + (drawn >= codes[switched])
    return result


def response_matrix(*, epsilon: float, classes: int) -> NDArray[np.float64]:
    """Row y: the probability of each output of :func:`randomize_codes` when the code is y.

    Examples
    --------
    >>> response_matrix(epsilon=1.0, classes=2).round(6)
    array([[0.731059, 0.268941],
           [0.268941, 0.731059]])
    """
    keep = float(keep_coin(epsilon, outcomes=classes).probability)
    matrix = np.full((classes, classes), (1 - keep) / (classes - 1))
    np.fill_diagonal(matrix, keep)
    return matrix
