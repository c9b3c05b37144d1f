"""Upper bounds on the probability of v correct guesses or more in one run, under an (epsilon, delta) guarantee.

W counts successes of r draws with probability q, where q/(1 - q) = e^epsilon prior/(1 - prior).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincc, expit, logit

from tacit.privacy.errors import InvalidInput

__all__ = ["OneRunTail", "at_least", "check_coin_prior", "sharp_tail", "with_chance"]

Array = NDArray[np.float64]


OneRunTail = Callable[..., Array]
"""A bound on the probability of v correct guesses or more, with the parameters of :func:`sharp_tail`."""


def sharp_tail(
    right: ArrayLike,
    guesses: ArrayLike,
    examples: ArrayLike,
    *,
    epsilon: ArrayLike,
    delta: float = 0.0,
    prior: float = 0.5,
) -> Array:
    """Return the largest probability of ``right`` correct guesses or more under any (epsilon, delta) mechanism.

    P(V >= v) <= P(W >= v) + m delta P(W >= v) P(W < v)/(v P(W = v)), attained for fair coins.

    References
    ----------
    docs/proofs/epsilon_lower_bounds.md, "One run".
    """
    v, r, m, q = with_chance(right, guesses, examples, epsilon=epsilon, prior=prior)
    above, below = at_least(v, r, q), _below(v, r, q)
    with np.errstate(invalid="ignore"):  # infinity times 0 where P(W < v) vanishes: p is 1 there anyway
        added = m * delta * _tail_over_mass(v, r, q, above) * below / np.maximum(v, 1)
    return np.minimum(np.where((v == 0) | (below == 0), 1.0, above + added), 1.0)


def with_chance(
    right: ArrayLike, guesses: ArrayLike, examples: ArrayLike, *, epsilon: ArrayLike, prior: float
) -> tuple[Array, Array, Array, Array]:
    """Return v, r and m as floats of one shape, and q, the chance of a success of W."""
    chance = expit(np.asarray(epsilon, dtype=np.float64) + logit(check_coin_prior(prior)))
    v, r, m, q = np.broadcast_arrays(right, guesses, examples, chance)
    return v.astype(np.float64), r.astype(np.float64), m.astype(np.float64), q


def check_coin_prior(prior: float) -> float:
    """Return ``prior``, or raise unless it is a probability that a secret can have."""
    if not 0 < prior < 1:
        raise InvalidInput(f"must be in (0, 1), such as 0.5 for a fair coin, got {prior!r}", field="prior")
    return float(prior)


def at_least(v: Array, r: Array, q: Array) -> Array:
    """Return P(W >= v), 1 for v <= 0."""
    inside = np.clip(v, 1, r)
    return np.where(v <= 0, 1.0, np.where(v > r, 0.0, betainc(inside, r - inside + 1, q)))


def _below(v: Array, r: Array, q: Array) -> Array:
    """P(W < v) for 0 <= v <= r."""
    inside = np.clip(v, 1, r)
    return np.where(v <= 0, 0.0, betaincc(inside, r - inside + 1, q))


def _tail_over_mass(v: Array, r: Array, q: Array, above: Array) -> Array:
    """P(W >= v)/P(W = v); if the mass underflows, the geometric series that bounds it."""
    from scipy.stats import binom  # half a second of import that pure guarantees do not need

    mass = binom.pmf(v, r, q)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (r - v) * q / ((v + 1) * (1 - q))  # P(W = v + 1)/P(W = v), and it falls from there
        series = np.where(ratio < 1, 1 / (1 - ratio), np.inf)
        return np.where(mass > 1e-290, above / mass, series)
