"""How well scores rank rows of a class above others, for labels that are estimates of 0 and 1.

Numerators and denominators are linear in each row's label, so that independent unbiased estimates of the labels keep
them unbiased. Standard errors are those of the linearized ratios: DeLong's for the ROC curve of true labels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.leak.ratio import RatioEstimate

__all__ = ["average_precision", "ranking_area"]

Array = NDArray[np.float64]
Ranks = NDArray[np.int64]


def ranking_area(scores: Array, inside: Array) -> RatioEstimate:
    """Estimate the area under the ROC curve, ties counted half: pairs in the right order, per pair.

    Parameters
    ----------
    inside
        1 for rows of the class, 0 for others, or unbiased estimates of that.

    References
    ----------
    DeLong, DeLong and Clarke-Pearson (1988).
    """
    rank, outside = _ranks(scores), 1 - inside
    own = inside * outside  # 0 for true labels: a row is no pair with itself
    won = inside * (outside.sum() - _at_least(rank, outside) + _tied(rank, outside) / 2) - own / 2
    lost = outside * (_at_least(rank, inside) - _tied(rank, inside) / 2) - own / 2
    pairs = inside.sum() * outside.sum() - own.sum()
    possible = inside * outside.sum() + outside * inside.sum() - 2 * own
    return RatioEstimate(above=float(won.sum()), below=float(pairs), moves_above=won + lost, moves_below=possible)


def average_precision(scores: Array, inside: Array) -> RatioEstimate:
    """Estimate the mean precision at the rows of the class, rows of equal score together.

    Parameters are those of :func:`ranking_area`.
    """
    rank = _ranks(scores)
    rows = _at_least(rank, np.ones_like(inside))
    # a row's own label counts once, linearly: its square would bias an estimate
    precision = (_at_least(rank, inside) - inside + 1) / rows
    each = inside / rows  # what one more row of the class adds to the precision of those ranked with it or below
    below = rank.max() - rank
    shared = inside * _at_least(below, each) - _at_least(below, each * precision)
    return RatioEstimate(
        above=float((inside * precision).sum()),
        below=float(inside.sum()),
        moves_above=inside * precision + shared,
        moves_below=inside,
    )


def _ranks(scores: Array) -> Ranks:
    """Return 0 for the highest score, the same number for equal ones."""
    return np.asarray(np.unique(-scores, return_inverse=True)[1])


def _tied(rank: Ranks, amounts: Array) -> Array:
    return np.asarray(np.bincount(rank, amounts)[rank])


def _at_least(rank: Ranks, amounts: Array) -> Array:
    """Return for each row the sum over rows ranked with it or above."""
    return np.asarray(np.cumsum(np.bincount(rank, amounts))[rank])
