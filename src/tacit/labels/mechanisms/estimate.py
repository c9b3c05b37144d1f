"""A prior over classes estimated from the private labels themselves, with a part of the same epsilon."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput
from tacit.privacy.noise import DiscreteLaplace
from tacit.privacy.rounding import check_epsilon

__all__ = ["estimate_prior", "project_to_simplex"]

_SENSITIVITY = 2  # another label takes one from a count and adds one to another


def estimate_prior(counts: ArrayLike, *, epsilon: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Estimate the class prior from class counts with discrete Laplace noise of scale 2/epsilon on each.

    The noisy counts, divided by the public number of labels, are projected to the nearest distribution.

    Unit: one row's label; neighbors differ in that label alone, which moves two counts by one each. Assumes that
    the class list and the number of labels are public. Not protected: features, which rows exist.

    References
    ----------
    Ghosh, Roughgarden and Sundararajan (2012). Formula sheet e2.
    """
    exact_counts = np.asarray(counts, dtype=np.int64)
    total = int(exact_counts.sum())
    if exact_counts.ndim != 1 or len(exact_counts) < 2 or (exact_counts < 0).any() or not total:
        raise InvalidInput(f"must be of two classes or more, with at least one label, got {counts!r}", field="counts")
    noise = DiscreteLaplace.for_epsilon(check_epsilon(epsilon), sensitivity=_SENSITIVITY)
    return project_to_simplex((exact_counts + noise.draw(len(exact_counts), rng=rng)) / total)


def project_to_simplex(point: ArrayLike) -> NDArray[np.float64]:
    """Return the nearest distribution: max(point - t, 0) with the t that makes the sum 1.

    References
    ----------
    Duchi et al. (2008), Figure 1.
    """
    values = np.asarray(point, dtype=np.float64)
    descending = -np.sort(-values)
    shifts = (np.cumsum(descending) - 1) / np.arange(1, len(values) + 1)
    last = np.flatnonzero(descending > shifts)[-1]
    result = np.maximum(values - shifts[last], 0)
    return np.asarray(result / result.sum())  # rounding off
