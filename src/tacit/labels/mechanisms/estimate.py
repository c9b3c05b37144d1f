"""A prior over classes estimated from the private labels themselves, with a part of the same epsilon."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput
from tacit.privacy.noise import DiscreteLaplace
from tacit.privacy.rounding import check_epsilon

__all__ = ["estimate_prior", "project_to_simplex"]

_ANY = 0.02  # chance that noise alone passes the limit in any class
_MOST = 0.8  # of the labels
_SENSITIVITY = 2  # another label takes one from a count and adds one to another


def estimate_prior(
    counts: ArrayLike, *, epsilon: float, rng: np.random.Generator, clear: bool = False
) -> NDArray[np.float64]:
    """Estimate the class prior from class counts with discrete Laplace noise of scale 2/epsilon on each.

    The noisy counts, divided by the public number of labels, are projected to the nearest distribution. With ``clear``,
    a count is 0 instead where it is not clearly above the noise, which is below that limit in all classes in 98% of
    draws: a far number that noise alone makes frequent would move a mean far.

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
    noisy = (exact_counts + noise.draw(len(exact_counts), rng=rng)).astype(np.float64)
    return _clear(noisy, total, epsilon) if clear else project_to_simplex(noisy / total)


def _clear(noisy: NDArray[np.float64], total: int, epsilon: float) -> NDArray[np.float64]:
    """The counts above the noise, where these are most of all; else all, or equal ones if noise is most of each."""
    limit = _SENSITIVITY / epsilon * np.log(len(noisy) / (2 * _ANY))
    kept = np.where(noisy < limit, 0.0, noisy)
    if kept.sum() >= _MOST * total:
        return np.asarray(kept / kept.sum())
    return project_to_simplex(noisy / total) if limit < 2 * total / len(noisy) else np.full(len(noisy), 1 / len(noisy))


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
