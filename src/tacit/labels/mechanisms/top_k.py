"""RRTop-k: randomized response among the k likeliest classes of each row, with the best k for its prior."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.labels.mechanisms.finite import check_codes, check_prior
from tacit.privacy.errors import InvalidInput
from tacit.privacy.noise.choice import keep_coin
from tacit.privacy.noise.coin import flip_each

__all__ = ["best_top_k", "check_priors", "exact_top_k", "randomize_top_k", "top_k_likelihood"]

Codes = NDArray[np.int64]
Array = NDArray[np.float64]

_CELLS_AT_ONCE = 4_000_000  # entries of the prior worked on at a time: bounds the memory


def check_priors(prior: ArrayLike) -> Array:
    """Return priors as rows, one for all labels or one per label; float32 stays float32."""
    rows = np.atleast_2d(np.asarray(prior))
    if rows.ndim != 2 or rows.shape[1] < 2:
        raise InvalidInput(f"must be rows of at least two classes, got shape {np.shape(prior)}", field="prior")
    kept = rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)
    for at in _parts(kept):
        check_prior(kept[at], classes=kept.shape[1])
    return kept


def best_top_k(descending: Array, *, epsilon: float) -> Codes:
    """Return for each row's prior, sorted, the k with the largest chance that RRTop-k releases the true label.

    w_k = e^epsilon / (e^epsilon + k - 1) times the mass of the k largest priors; the least such k on ties. The
    maximum is also the best over all epsilon-DP mechanisms.

    References
    ----------
    Ghazi et al. (2021), Algorithm 2 and Theorem 3. Formula sheet a5. (The published code has k off by one.)

    Examples
    --------
    >>> best_top_k(np.array([[0.7, 0.3], [0.9, 0.1]]), epsilon=1.0)
    array([2, 1])
    """
    chance = np.cumsum(descending, axis=1) / (1 + np.arange(descending.shape[1]) * np.exp(-epsilon))
    return np.asarray(np.argmax(chance, axis=1) + 1, dtype=np.int64)


def exact_top_k(prior: Array, *, epsilon: float) -> tuple[tuple[Fraction, ...], ...]:
    """Return the exact probability of each output, one row per label, under one prior."""
    ks, members = _top_members(prior[None, :], epsilon)
    k, inside, K = int(ks[0]), members[0], len(prior)
    keep = keep_coin(epsilon, outcomes=k).probability
    other = (1 - keep) / (k - 1) if k > 1 else Fraction(0)

    def chance(label: int, output: int) -> Fraction:
        if not inside[output]:
            return Fraction(0)
        if not inside[label]:
            return Fraction(1, k)
        return keep if label == output else other

    return tuple(tuple(chance(y, o) for o in range(K)) for y in range(K))


def randomize_top_k(codes: Codes, *, prior: Array, epsilon: float, rng: np.random.Generator) -> Codes:
    """Draw one output per label, each under its row's prior or all under one."""
    labels = check_codes(codes, classes=prior.shape[1])
    rows = _broadcast(prior, len(labels))
    result = np.empty_like(labels)
    for at in _parts(rows):
        result[at] = _randomize_part(labels[at], rows[at], epsilon, rng)
    return result


def top_k_likelihood(observed: Codes, *, prior: Array, epsilon: float) -> Array:
    """Return P(observed | label = c) under each row's own prior, as column c."""
    codes = check_codes(observed, classes=prior.shape[1])
    rows = _broadcast(prior, len(codes))
    result = np.empty(rows.shape)
    for at in _parts(rows):
        result[at] = _likelihood_part(codes[at], rows[at], epsilon)
    return result


def _broadcast(prior: Array, labels: int) -> Array:
    if len(prior) not in (1, labels):
        raise InvalidInput(f"must have one row, or one for each of {labels} labels, got {len(prior)}", field="prior")
    return np.broadcast_to(prior, (labels, prior.shape[1]))


def _parts(prior: Array) -> Iterator[slice]:
    step = max(1, _CELLS_AT_ONCE // prior.shape[1])
    return (slice(start, start + step) for start in range(0, len(prior), step))


def _randomize_part(labels: Codes, prior: Array, epsilon: float, rng: np.random.Generator) -> Codes:
    k, members = _top_members(prior, epsilon)
    inside = members[np.arange(len(labels)), labels]
    coins = [keep_coin(epsilon, outcomes=outcomes) for outcomes in range(1, prior.shape[1] + 1)]
    kept = flip_each(coins, k - 1, rng=rng) & inside
    # a label that is not kept draws a place among the k members, skipping its own where it is one of them
    place = rng.integers(0, np.where(inside, np.maximum(k - 1, 1), k))
    rank = np.cumsum(members, axis=1, dtype=np.int32)
    own = rank[np.arange(len(labels)), labels] - 1
    place += inside & (k > 1) & (place >= own)
    drawn = np.argmax(rank == (place + 1)[:, None], axis=1)
    return np.where(kept, labels, drawn)


def _likelihood_part(codes: Codes, prior: Array, epsilon: float) -> Array:
    k, members = _top_members(prior, epsilon)
    keep = 1 / (1 + (k - 1) * np.exp(-epsilon))  # e^epsilon itself overflows from 710 on
    other = np.exp(-epsilon) * keep
    result = np.where(members, other[:, None], (1 / k)[:, None])
    result[np.arange(len(codes)), codes] = keep
    possible = members[np.arange(len(codes)), codes]
    return np.where(possible[:, None], result, 0.0)


def _top_members(prior: Array, epsilon: float) -> tuple[Codes, NDArray[np.bool_]]:
    """The best k of each row, and its k largest entries marked; of equal ones the first classes."""
    descending = -np.sort(-prior, axis=1)
    k = best_top_k(descending, epsilon=epsilon)
    least = descending[np.arange(len(prior)), k - 1][:, None]
    above, tied = prior > least, prior == least
    room = k[:, None] - above.sum(axis=1, keepdims=True)
    return k, above | (tied & (np.cumsum(tied, axis=1, dtype=np.int32) <= room))
