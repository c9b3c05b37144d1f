"""Whether rows were randomized independently: draws that are used again show as switches that come in pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.stats import binom

__all__ = ["p_repeated", "p_shared"]

Rows = NDArray[np.bool_]

_LAGS = 32  # whose pairs are counted exactly: those with the most


def p_shared(first: Rows, second: Rows, *, rate: float) -> float:
    """Return how probable it is that two releases switch so many labels in common, if their draws are independent.

    Parameters
    ----------
    first, second
        Which labels each release switched.
    rate
        The share of labels that one release switches.
    """
    one, other, chance = _rarer(first, second, rate=rate)
    return float(binom.sf((one & other).sum() - 1, len(one), chance**2))


def p_repeated(switched: Rows, *, rate: float) -> float:
    """Return how probable it is that switches come in so many pairs at one distance, if rows are independent.

    For each distance d the pairs (i, i + d) fall into two sets in which no row is used twice, so that the pairs of
    switches in a set are binomial with rate^2 exactly. The smallest of all p-values is multiplied by their number.
    """
    rare, _, chance = _rarer(switched, switched, rate=rate)
    counted = np.array([count for distance in _frequent_distances(rare) for count in _pairs_at(rare, int(distance))])
    if not len(counted):
        return 1.0
    smallest = float(np.min(binom.sf(counted[:, 0] - 1, counted[:, 1], chance**2)))
    return min(1.0, 2 * (len(rare) - 1) * smallest)


def _rarer(first: Rows, second: Rows, *, rate: float) -> tuple[Rows, Rows, float]:
    """What happens less often, a switch or a label that is kept: pairs of it are the clearer sign."""
    return (first, second, rate) if rate <= 0.5 else (~first, ~second, 1 - rate)


def _frequent_distances(events: Rows) -> NDArray[np.int64]:
    """The distances at which the most pairs of events are found, compared with how many rows have that distance."""
    rows = len(events)
    size = next_fast_len(2 * rows, real=True)
    spectrum = rfft(events.astype(np.float64), size)
    pairs = irfft(np.abs(spectrum) ** 2, size)[1:rows]
    room = np.arange(rows - 1, 0, -1)
    excess = (pairs - room * events.mean() ** 2) / np.sqrt(room)
    return np.argsort(-excess)[:_LAGS] + 1


def _pairs_at(events: Rows, distance: int) -> list[tuple[int, int]]:
    """Of the two sets of pairs at one distance: how many are pairs of events, and how many there are."""
    pairs = events[:-distance] & events[distance:]
    odd = (np.arange(len(pairs)) // distance) % 2 == 1
    return [(int(pairs[side].sum()), int(side.sum())) for side in (odd, ~odd)]
