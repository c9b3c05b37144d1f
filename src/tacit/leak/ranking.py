"""How well scores rank rows of a class above others, for labels that are estimates of 0 and 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["average_precision", "ranking_area"]

Array = NDArray[np.float64]


def ranking_area(scores: Array, inside: Array, weights: Array) -> float:
    """Return the area under the ROC curve, ties counted half.

    The numerator sums over pairs of different rows, so that independent unbiased estimates of the labels keep it
    unbiased; so does the denominator.

    Parameters
    ----------
    scores
        Sorted downwards.
    inside
        1 for rows of the class, 0 for others, or unbiased estimates of that.
    weights
        How often each row counts.
    """
    own, other = weights * inside, weights * (1 - inside)
    _, start, of = np.unique(-scores, return_index=True, return_inverse=True)
    per_score = np.add.reduceat(other, start)
    below = other.sum() - np.cumsum(per_score)
    pairs = (own * (below[of] + per_score[of] / 2)).sum() - (own * other).sum() / 2
    return float(pairs / (own.sum() * other.sum() - (own * other).sum()))


def average_precision(scores: Array, inside: Array, weights: Array) -> float:
    """Return the mean precision at the rows of the class, rows of equal score together.

    Parameters are those of :func:`ranking_area`.
    """
    own = weights * inside
    _, start, of = np.unique(-scores, return_index=True, return_inverse=True)
    at_least = np.cumsum(np.add.reduceat(own, start))[of]
    rows = np.cumsum(np.add.reduceat(weights, start))[of]
    # a row's own label counts once, linearly: its square would bias an estimate
    terms = own * (at_least - own) + own * weights
    return float((terms / np.maximum(rows, 1e-300)).sum() / own.sum())
