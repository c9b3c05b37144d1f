"""Integer weights whose weighted sums of labels are all different, and how a sum is read back."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count

__all__ = [
    "TABLE_WEIGHTS",
    "conway_guy_weights",
    "digits_of",
    "most_weights",
    "power_weights",
    "subset_of",
    "subset_sums",
]

TABLE_WEIGHTS = 16
"""Most weights whose sums are read from a table of all of them."""


def power_weights(count: int, *, radix: int = 2) -> NDArray[np.int64]:
    """Return 1, K, K^2, ...: a sum of labels 0..K-1 with these weights is a number written in base K."""
    check_count(radix, name="radix", least=2)
    if check_count(count, name="count", least=0) and radix ** (count - 1) >= 2**62:
        raise InvalidInput(f"must keep radix^(count-1) below 2^62, got {count!r} at radix {radix!r}", field="count")
    return np.array([radix**i for i in range(count)], dtype=np.int64)


def conway_guy_weights(count: int) -> NDArray[np.int64]:
    """Return Conway and Guy's weights: all 2^count subset sums differ, the largest is about 0.24 * 2^count.

    u_0 = 0, u_1 = 1, u_(n+1) = 2 u_n - u_(n-r) with r = round(sqrt(2 n)); the weights are u_n - u_i, i < n.
    Powers of two need 2^(count-1) for the largest: from 4 labels on it is smaller here.

    References
    ----------
    Conway, Guy (1969); Bohman (1996), "A sum packing problem of Erdos and the Conway-Guy sequence",
    proves the sums distinct for every count.
    """
    u = _conway_guy(check_count(count, name="count", least=0))
    if u[-1] >= 2**62:
        raise InvalidInput(f"must be at most 63 for 64-bit weights, got {count!r}", field="count")
    return np.array([u[-1] - term for term in reversed(u[:-1])], dtype=np.int64)


def most_weights(limit: float, *, radix: int = 2, most: int = 60) -> NDArray[np.int64]:
    """Return the largest known set of weights up to ``limit`` that distinguishes labels 0..radix-1 by their sum.

    Conway-Guy for two classes, powers for more; never more than ``most``.
    """
    make = conway_guy_weights if radix == 2 else lambda count: power_weights(count, radix=radix)
    count = 0
    while count < most and (grown := make(count + 1))[-1] <= limit and grown[-1] < 2**60:
        count += 1
    return make(count)


def digits_of(totals: ArrayLike, *, count: int, radix: int = 2) -> NDArray[np.int64]:
    """Return the ``count`` base-``radix`` digits of each total, least first: O(1) per label, no search."""
    left = np.atleast_1d(np.asarray(totals, dtype=np.int64))
    if left.size and (left.min() < 0 or left.max() >= radix**count):
        raise InvalidInput(f"must be in 0..{radix**count - 1}, got {left.min()} to {left.max()}", field="totals")
    powers = power_weights(count, radix=radix)
    return left[:, None] // powers % radix


def subset_of(totals: ArrayLike, *, weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the 0/1 labels behind each subset sum of ``weights``: a look-up in the table of all sums."""
    sums, subsets = _subset_table(tuple(int(w) for w in weights))
    wanted = np.atleast_1d(np.asarray(totals, dtype=np.int64))
    where = np.searchsorted(sums, wanted).clip(max=len(sums) - 1)
    missing = sums[where] != wanted
    if missing.any():
        raise InvalidInput(f"must be subset sums of the weights, got {wanted[missing][0]}", field="totals")
    return digits_of(subsets[where], count=len(weights))


def subset_sums(weights: Iterable[int]) -> NDArray[np.int64]:
    """Return the sums of all subsets, numbered by their bits."""
    sums = np.zeros(1, dtype=np.int64)
    for weight in weights:
        sums = np.concatenate([sums, sums + weight])
    return sums


@lru_cache(maxsize=64)
def _conway_guy(count: int) -> tuple[int, ...]:
    u = [0, 1]
    for n in range(1, count):
        u.append(2 * u[n] - u[n - round((2 * n) ** 0.5)])
    return tuple(u[: count + 1])


@lru_cache(maxsize=32)
def _subset_table(weights: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if len(weights) > TABLE_WEIGHTS:
        raise InvalidInput(f"must be at most {TABLE_WEIGHTS} for a table of sums, got {len(weights)}", field="weights")
    sums = subset_sums(weights)
    order = np.argsort(sums, kind="stable")
    if (np.diff(sums[order]) == 0).any():
        raise InvalidInput(f"must have distinct subset sums, got {list(weights)}", field="weights")
    return sums[order], order.astype(np.int64)
