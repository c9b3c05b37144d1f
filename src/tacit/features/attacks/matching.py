"""Whose row is it, of all rows at once: released rows are the known ones in another order, so no two share one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.features.attacks.released_rows import Matrix, ReleasedRows
from tacit.privacy.edge import Progress

__all__ = ["match_rows"]

_CELLS, _LEAST = 1 << 22, 16  # pairs that are weighed: so many nearest candidates of each released row
_CHUNK = 1 << 23
_STEPS, _KEPT = 30, 0.5  # of the messages, and how much of the last one stays
_FLOOR = 1e-12  # of a sum that lacks its largest term


def match_rows(
    released: ReleasedRows, candidates: ArrayLike, *, progress: Progress | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return for each released row the likeliest candidate, given that each is behind one row, and its probability.

    A candidate that fits another released row better is less likely here. Probabilities are sums over all orders of
    the rows; belief propagation comes near to them, but is too sure of few rows, or of two features. Candidates that
    are far away are left out where there are many rows.

    References
    ----------
    Huang and Jebara (2009), "Approximating the permanent with belief propagation".
    """
    known = released.place(candidates)
    near, weights = _nearest(released.rows, known, progress=progress)
    odds = _odds(near, weights, candidates=len(known))
    beliefs = odds / (1 + odds)
    rows, best = np.arange(len(near)), beliefs.argmax(axis=1)
    return near[rows, best], beliefs[rows, best] / beliefs.sum(axis=1)


def _nearest(rows: Matrix, known: Matrix, *, progress: Progress | None) -> tuple[NDArray[np.int64], Matrix]:
    """The nearest candidates of each row, and how likely the row is under each, beside the nearest."""
    squares, every = (known**2).sum(axis=1) / 2, len(known)
    kept, chunk = min(every, max(_LEAST, _CELLS // max(1, len(rows)))), max(1, _CHUNK // max(1, every))
    near, weights = np.empty((len(rows), kept), dtype=np.int64), np.empty((len(rows), kept))
    for start in range(0, len(rows), chunk):
        part = slice(start, min(start + chunk, len(rows)))
        fits = rows[part] @ known.T - squares
        near[part] = np.argpartition(-fits, kept - 1, axis=1)[:, :kept]
        fits = np.take_along_axis(fits, near[part], axis=1)
        weights[part] = np.exp(fits - fits.max(axis=1, keepdims=True))
        if progress:
            progress(part.stop, len(rows))
    return near, weights


def _odds(near: NDArray[np.int64], weights: Matrix, *, candidates: int) -> Matrix:
    """The odds of each pair: its weight, times what the other pairs of its row and of its candidate leave."""
    of_candidate = np.ones_like(weights)
    for _ in range(_STEPS):
        terms = weights * of_candidate
        of_row = 1 / _without(terms.sum(axis=1, keepdims=True), terms)
        terms = weights * of_row
        sums = np.asarray(np.bincount(near.ravel(), terms.ravel(), candidates), dtype=np.float64)[near]
        of_candidate = of_candidate**_KEPT * _without(sums, terms) ** (_KEPT - 1)
    return np.asarray(weights * of_row * of_candidate)


def _without(total: Matrix, terms: Matrix) -> Matrix:
    return np.maximum(total - terms, _FLOOR * total)
