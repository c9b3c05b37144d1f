"""P(label) of all rows, and P(label | x) of each, from what the mechanism released: its channel undone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

__all__ = ["likeliest_shares", "shares_of_outputs", "unfold", "uniform_channel"]

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

_FLOOR, _TINY = 1e-12, 1e-300  # an estimated 0 is no proof
_STEPS = 200
_SHARE_STEPS = 2000
_PARTS = 5
_WEIGHTS = (0.01, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)  # of the start, beside the shares that the rows make likeliest


def likeliest_shares(likelihood: Array, *, start: Array) -> Array:
    """Return the class shares under which released rows are likely: the likeliest, mixed with ``start``.

    Few rows, or much noise, make any shares likeliest by chance: then ``start`` has more weight. Its weight is a mean
    over several, each counted by how likely the shares of four fifths of the rows make the other fifth.
    """
    kinds, whose = np.unique(likelihood, axis=0, return_inverse=True)
    return shares_of_outputs(whose.ravel(), transition=kinds.T, start=start)


def shares_of_outputs(outputs: Codes, *, transition: Array, start: Array, weights: Array | None = None) -> Array:
    """Return :func:`likeliest_shares` of rows that all went through one channel, by what came out."""
    kinds = transition.shape[1]
    each = np.ones(len(outputs)) if weights is None else weights
    counts = np.bincount(outputs, weights=each, minlength=kinds)
    part = np.random.default_rng(0).permutation(len(outputs)) % _PARTS
    parts = [part == number for number in range(_PARTS)]
    out = np.stack([np.bincount(outputs[one], weights=each[one], minlength=kinds) for one in parts])
    seen = (counts - out) / np.maximum((counts - out).sum(axis=1, keepdims=True), 1)
    found = _mixture(np.concatenate([seen, counts[None] / max(1e-300, counts.sum())]), transition, start)
    rates, started = found[:-1] @ transition, start @ transition
    fits = np.array([(out * np.log(np.maximum((1 - w) * rates + w * started, _TINY))).sum() for w in _WEIGHTS])
    weight = float(softmax(fits) @ _WEIGHTS)
    return np.asarray((1 - weight) * found[-1] + weight * start)


def uniform_channel(transition: Array) -> tuple[float, float] | None:
    """Return what a channel keeps and what it gives each other label, if these are the same for all labels."""
    if transition.shape[0] != transition.shape[1] or len(transition) < 2:
        return None
    keep, other = float(transition[0, 0]), float(transition[0, 1])
    own = np.diagonal(transition)
    same = (transition == other).sum() == transition.size - len(own) and (own == keep).all()
    return (keep, other) if same and keep > other else None


def _mixture(frequencies: Array, transition: Array, start: Array) -> Array:
    uniform = uniform_channel(transition)
    if uniform is None:
        return unfold(frequencies, transition=transition, start=start, steps=_SHARE_STEPS)
    return np.stack([_fill(row, *uniform) for row in frequencies])


def _fill(frequencies: Array, keep: float, other: float) -> Array:
    """The shares p that maximize sum q log(other + (keep - other) p): max(0, q/level - c), which sums to 1."""
    floor = other / (keep - other)
    ordered = np.sort(frequencies)[::-1]
    level = ordered.cumsum() / (1 + floor * np.arange(1, len(ordered) + 1))
    kept = np.flatnonzero(ordered > floor * level)
    if not len(kept):  # no rows
        return np.full(len(frequencies), 1 / len(frequencies))
    return np.asarray(np.maximum(frequencies / level[kept[-1]] - floor, 0.0))


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
