"""P(label) of all rows, and P(label | x) of each, from what the mechanism released: its channel undone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["class_rates", "likeliest_shares", "shares_of_outputs", "unfold", "uniform_channel"]

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

_FLOOR, _TINY = 1e-12, 1e-300  # an estimated 0 is no proof
_STEPS = 200
_SHARE_STEPS = 2000
_KINDS = 100_000  # different likelihoods from which shares are found


def likeliest_shares(likelihood: Array, *, start: Array, weights: Array | None = None) -> Array:
    """Return the class shares under which released rows are likely: the likeliest, shrunk toward ``start``.

    Few rows, or much noise, make any shares likeliest by chance. Those of K classes are expected to raise twice the
    log-likelihood by K - 1 where ``start`` is true, so they keep what exceeds that.

    References
    ----------
    James and Stein (1961), Section 2; Wilks (1938).
    """
    mark = likelihood @ np.random.default_rng(0).random(likelihood.shape[1])  # equal rows have equal marks
    _, first, place = np.unique(mark, return_index=True, return_inverse=True)
    counts = np.bincount(place.ravel(), weights=weights)
    order = np.argsort(likelihood[first].argmax(axis=1), kind="stable")  # of a square channel: outputs as labels
    order = order[:: -(-len(first) // _KINDS)]
    return _shrunk(counts[order].astype(np.float64), likelihood[first[order]].T, start)


def shares_of_outputs(outputs: Codes, *, transition: Array, start: Array, weights: Array | None = None) -> Array:
    """Return :func:`likeliest_shares` of rows that all went through one channel, by what came out."""
    counts = np.bincount(outputs, weights=weights, minlength=transition.shape[1])
    return _shrunk(counts.astype(np.float64), transition, start)


def class_rates(likelihood: Array, weights: Array) -> Array:
    """Return :func:`likeliest_shares` of all K classes, each at least a 2K-th of its standard error.

    An estimated 0 says no more than that; a model that starts from it would never find the class.
    """
    K = likelihood.shape[1]
    shares = likeliest_shares(likelihood, start=np.full(K, 1 / K), weights=weights)
    scores = likelihood / np.maximum(likelihood @ shares, _TINY)[:, None] - 1
    floored = np.maximum(shares, 0.5 / (K * np.sqrt(np.maximum(weights @ scores**2, 1.0))))
    return np.asarray(floored / floored.sum())


def _shrunk(counts: Array, transition: Array, start: Array) -> Array:
    found = _mixture(counts / max(_TINY, counts.sum()), transition, start)
    ratio = np.maximum(found @ transition, _TINY) / np.maximum(start @ transition, _TINY)
    surplus = 2 * float(counts @ np.log(ratio)) - (len(start) - 1)
    keep = max(0.0, surplus) / max(_TINY, surplus + len(start) - 1)
    return np.asarray(keep * found + (1 - keep) * start)


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
        return np.asarray(unfold(frequencies[None], transition=transition, start=start, steps=_SHARE_STEPS)[0])
    return _fill(frequencies, *uniform)


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
