"""The m largest of many scores, chosen one after the other by permute-and-flip."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.noise import ExpCoin
from tacit.privacy.noise.coin import flip_exp
from tacit.privacy.rounding import exact

__all__ = ["peel"]

Steps = NDArray[np.int64]

_ONE_IN_E = ExpCoin(rate=Fraction(1))
_FINE = 1 << 60


def peel(scores: Steps, *, keep: int, sensitivity: int, epsilon: float, rng: np.random.Generator) -> Steps:
    """Choose the best, leave it out, choose the next: m times, each at epsilon/m, by permute-and-flip.

    A round looks at the features in random order and takes the first whose coin of probability
    e^(-epsilon (best - score)/(2 D m)) shows heads. Each round is (epsilon/m)-differentially private and errs no more,
    in the mean, than the exponential mechanism; the order of the list is released with it.

    References
    ----------
    McKenna and Sheldon (2020), Theorem 1; McSherry and Talwar (2007).

    Examples
    --------
    >>> peel(np.array([0, 900, 5, 800]), keep=2, sensitivity=1, epsilon=1.0, rng=np.random.default_rng(0))
    array([1, 3])
    """
    rate = Fraction(math.floor(exact(epsilon) / (2 * sensitivity * keep) * _FINE), _FINE)  # down: less is revealed
    left = np.arange(len(scores))
    chosen = []
    for _ in range(keep):
        place = _permute_and_flip(scores[left], rate=rate, rng=rng)
        chosen.append(left[place])
        left = np.delete(left, place)
    return np.array(chosen, dtype=np.int64)


def _permute_and_flip(scores: Steps, *, rate: Fraction, rng: np.random.Generator) -> int:
    """The first in random order whose coin, of probability e^(-rate (best - score)), shows heads."""
    order = rng.permutation(len(scores))
    behind = scores.max() - scores[order]
    wholes, parts = np.empty_like(behind), np.empty_like(behind)
    for place, gap in enumerate(behind):  # exact: a product of rationals may leave 64 bits
        wholes[place], rest = divmod(int(gap) * rate.numerator, rate.denominator)
        parts[place] = rest
    heads = flip_exp(parts, denominator=rate.denominator, rng=rng)
    heads &= _ONE_IN_E.count_heads(len(wholes), rng=rng) >= wholes
    return int(order[np.argmax(heads)])
