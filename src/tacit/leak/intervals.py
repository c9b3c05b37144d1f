"""Exact confidence limits for a counted rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainccinv, betaincinv

from tacit.leak.stored_result import StoredResult
from tacit.privacy.errors import InvalidInput

__all__ = [
    "Interval",
    "check_counts",
    "check_level",
    "clopper_pearson",
    "difference_interval",
    "lower_limit",
    "upper_limit",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval(StoredResult):
    """A range that contains the true value with probability at least ``level``."""

    low: float
    high: float
    level: float

    def __str__(self) -> str:
        return f"{self.low:.3f} to {self.high:.3f}"


def clopper_pearson(successes: int, trials: int, *, level: float = 0.95, spread: float = 1.0) -> Interval:
    """Bound a rate from ``successes`` of ``trials`` independent trials, with exact coverage.

    With error a per side, the lower limit is the a quantile of Beta(k, n - k + 1) and the upper limit the
    1 - a quantile of Beta(k + 1, n - k). Counts that vary ``spread`` times as much as those of independent trials are
    taken as that many times fewer trials.

    References
    ----------
    Clopper and Pearson (1934).
    """
    k, n = check_counts(successes, trials, names=("successes", "trials"))
    alpha = (1 - check_level(level)) / 2
    low, high = (float(limit(k / spread, n / spread, alpha=alpha)) for limit in (lower_limit, upper_limit))
    return Interval(low=low, high=high, level=level)


def difference_interval(first: tuple[int, int], second: tuple[int, int], *, level: float = 0.95) -> Interval:
    """Bound the difference of two rates by an exact interval for each, half of the error to either.

    The two rates may depend on each other, so counts of the same rows are allowed.
    """
    half = (1 + check_level(level)) / 2
    one, other = clopper_pearson(*first, level=half), clopper_pearson(*second, level=half)
    return Interval(low=one.low - other.high, high=one.high - other.low, level=level)


def lower_limit(successes: ArrayLike, trials: ArrayLike, *, alpha: float) -> NDArray[np.float64]:
    """Return the one-sided Clopper-Pearson lower limits of many counts, each wrong with probability ``alpha``.

    Weighted rows have fractional counts.
    """
    k, n = np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    # Beta(0, .) has no quantiles: zero successes give the limit 0
    some = np.where(k == 0, 1.0, k)
    return np.where(k == 0, 0.0, betaincinv(some, n - some + 1, alpha))


def upper_limit(successes: ArrayLike, trials: ArrayLike, *, alpha: float) -> NDArray[np.float64]:
    """Return the one-sided Clopper-Pearson upper limits of many counts, each wrong with probability ``alpha``."""
    k, n = np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    inside = np.where(k == n, n - 1, k)
    return np.where(k == n, 1.0, betainccinv(inside + 1, n - inside, alpha))


def check_level(level: float) -> float:
    """Return a confidence level as a float, or raise if it is not in (0, 1)."""
    try:
        number = float(level)
    except (TypeError, ValueError):
        number = np.nan
    if not 0 < number < 1:
        raise InvalidInput(f"must be in (0, 1), such as 0.95, got {level!r}", field="level")
    return number


def check_counts(
    part: ArrayLike, whole: ArrayLike, *, names: tuple[str, str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return two counts as integers, or raise unless 0 <= part <= whole and whole >= 1."""
    k, n = (_whole(value, name) for value, name in zip((part, whole), names, strict=True))
    if np.any(n < 1):
        raise InvalidInput(f"{names[1]} must be >= 1, got {int(n.min())}: nothing was counted")
    try:
        outside = (k < 0) | (k > n)
    except ValueError:
        raise InvalidInput(f"{names[0]} and {names[1]} must have one shape, got {k.shape} and {n.shape}") from None
    if np.any(outside):
        ks, ns = np.broadcast_arrays(k, n)
        first = int(np.flatnonzero(outside)[0])
        raise InvalidInput(f"{names[0]} must be from 0 to {names[1]}, got {ks.flat[first]} of {ns.flat[first]}")
    return k, n


def _whole(values: ArrayLike, name: str) -> NDArray[np.int64]:
    array = np.asarray(values)
    if array.dtype.kind not in "iuf" or not np.isfinite(array).all() or np.any(array != np.floor(array)):
        raise InvalidInput(f"{name} must be integers, got {values!r}")
    return array.astype(np.int64)
