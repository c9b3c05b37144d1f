"""The one-run bound of Steinke, Nasr and Jagielski, which tacit's exact one is compared with."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, xlog1py, xlogy

from tacit.leak.one_run_tails import Array, at_least, sharp_tail, with_chance
from tacit.privacy.errors import InvalidInput

__all__ = ["published_tail"]


def published_tail(
    right: ArrayLike,
    guesses: ArrayLike,
    examples: ArrayLike,
    *,
    epsilon: ArrayLike,
    delta: float = 0.0,
    prior: float = 0.5,
) -> Array:
    """Bound the probability of ``right`` correct guesses or more for fair coins, looser than ``sharp_tail``.

    P(V >= v) <= P(W >= v) + 2 m delta max over 1 <= i <= v of P(v - i <= W < v)/i.

    Where v lies far below the mean of W the printed bound can fall under what is attained (m = 2, v = 1,
    epsilon = 3): the value returned is never below the sharp one.

    References
    ----------
    Steinke, Nasr and Jagielski (2023), main theorem.
    """
    if prior != 0.5:
        raise InvalidInput(f"must be 0.5 for published_tail, got {prior!r}: use sharp_tail", field="prior")
    v, r, m, q = with_chance(right, guesses, examples, epsilon=epsilon, prior=prior)
    printed = at_least(v, r, q) + 2 * m * delta * _best_average(v, r, q)
    sharp = sharp_tail(right, guesses, examples, epsilon=epsilon, delta=delta)
    return np.minimum(np.maximum(sharp, np.where(v == 0, 1.0, printed)), 1.0)


def _best_average(v: Array, r: Array, q: Array) -> Array:
    """Return max over 1 <= i <= v of P(v - i <= W < v)/i.

    The masses of W read downwards from v - 1 rise, then fall; their running mean rises as long as the next
    mass is not below it, so the best i is found by halving.
    """
    tail = at_least(v, r, q)

    def average(i: Array) -> Array:
        return np.maximum(at_least(v - i, r, q) - tail, 0.0) / i

    low, high = np.ones_like(v), np.maximum(v, 1.0)
    while np.any(low < high):
        middle = np.floor((low + high) / 2)
        rising = _mass(v - middle - 1, r, q) >= average(middle)
        low, high = np.where(rising, middle + 1, low), np.where(rising, high, middle)
        low = np.minimum(low, high)
    return average(low)


def _mass(k: Array, r: Array, q: Array) -> Array:
    k = np.maximum(k, 0.0)
    choose = gammaln(r + 1) - gammaln(k + 1) - gammaln(r - k + 1)
    return np.exp(choose + xlogy(k, q) + xlog1py(r - k, -q))
