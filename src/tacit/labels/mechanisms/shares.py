"""P(label) of all rows, and P(label | x) of each, from what the mechanism released: its channel undone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

__all__ = ["likeliest_shares", "unfold"]

Array = NDArray[np.float64]

_FLOOR = 1e-12  # an estimated 0 is no proof
_STEPS = 200
_SHARE_STEPS = 2000
_PARTS = 5
_WEIGHTS = (0.01, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)  # of the start, beside the shares that the rows make likeliest


def likeliest_shares(likelihood: Array, *, start: Array) -> Array:
    """Return the class shares under which released rows are likely: the likeliest, mixed with ``start``.

    Few rows, or much noise, make any shares likeliest by chance: then ``start`` has more weight. Its weight is a mean
    over several, each counted by how likely the shares of four fifths of the rows make the other fifth.

    Examples
    --------
    >>> likelihood = np.repeat([[0.75, 0.25], [0.25, 0.75]], [7000, 3000], axis=0)
    >>> likeliest_shares(likelihood, start=np.full(2, 0.5)).round(1)
    array([0.9, 0.1])
    """
    kinds, whose = np.unique(likelihood, axis=0, return_inverse=True)
    counts = np.bincount(whose, minlength=len(kinds)).astype(np.float64)
    part = np.random.default_rng(0).permutation(len(whose)) % _PARTS
    out = np.stack([np.bincount(whose[part == number], minlength=len(kinds)) for number in range(_PARTS)])
    seen = (counts - out) / np.maximum((counts - out).sum(axis=1, keepdims=True), 1)
    each = _mixture(seen, kinds, start)
    fits = np.array([(out * np.log(((1 - w) * each + w * start) @ kinds.T)).sum() for w in _WEIGHTS])
    weight = float(softmax(fits) @ _WEIGHTS)
    return np.asarray((1 - weight) * _mixture(counts[None] / len(whose), kinds, start)[0] + weight * start)


def _mixture(frequencies: Array, kinds: Array, start: Array) -> Array:
    return unfold(frequencies, transition=kinds.T, start=start, steps=_SHARE_STEPS)


def unfold(outputs: Array, *, transition: Array, start: Array, steps: int = _STEPS) -> Array:
    """Return P(label | x) from P(output | x): the maximum-likelihood one, found from ``start``.

    p(y) <- p(y) sum over z of q(z) T[y,z]/(p T)(z). Labels that the channel cannot distinguish keep the ratio they have
    in ``start``; few steps keep a noisy q from being magnified.

    References
    ----------
    Richardson (1972); Lucy (1974).

    Examples
    --------
    >>> T = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> unfold(np.array([[0.7, 0.3]]), transition=T, start=np.array([[0.5, 0.5]])).round(3)
    array([[0.9, 0.1]])
    """
    p = np.maximum(np.broadcast_to(start, (len(outputs), len(transition))), _FLOOR)
    for _ in range(steps):
        change = (outputs / np.maximum(p @ transition, _FLOOR)) @ transition.T
        p = p * change
        if np.all(np.abs(change - 1) * p < 1e-6):
            break
    return np.asarray(p / p.sum(axis=1, keepdims=True))
