"""Epsilon from a single run in which many units carried secrets drawn at random.

m units each carry a secret that the auditor drew: a fair coin decides whether the unit was in the data, or
which of two labels it had; more generally a label whose likeliest value has prior probability ``prior``. From
the release the attacker guesses r of them and is right v times. W counts successes of r draws with probability
q, where q/(1 - q) = e^epsilon prior/(1 - prior).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincc, expit, gammaln, logit, xlog1py, xlogy

from tacit.leak.epsilon import round_down
from tacit.leak.intervals import check_counts, check_level, lower_limit, upper_limit
from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_delta

__all__ = ["OneRunTail", "Published", "Sharp", "epsilon_one_run"]

_SLACK = 1e-9  # relative: the tails are computed to about 1e-12
_STEPS = 100  # halvings: more than a float can tell apart

Array = NDArray[np.float64]


class OneRunTail(Protocol):
    """How the chance of v right guesses or more is bounded for an (epsilon, delta) mechanism."""

    def p_value(
        self,
        right: ArrayLike,
        guesses: ArrayLike,
        examples: ArrayLike,
        *,
        epsilon: ArrayLike,
        delta: float = 0.0,
        prior: float = 0.5,
    ) -> Array:
        """Bound the probability of at least ``right`` right guesses."""
        ...


@dataclass(frozen=True, slots=True)
class Sharp:
    """The largest probability any (epsilon, delta) mechanism can give v right guesses or more.

    P(V >= v) <= P(W >= v) + m delta P(W >= v) P(W < v)/(v P(W = v)), attained for fair coins.

    References
    ----------
    docs/proofs/epsilon_lower_bounds.md, "One run".
    """

    def p_value(
        self,
        right: ArrayLike,
        guesses: ArrayLike,
        examples: ArrayLike,
        *,
        epsilon: ArrayLike,
        delta: float = 0.0,
        prior: float = 0.5,
    ) -> Array:
        """Bound the probability of at least ``right`` right guesses."""
        v, r, m, q = _broadcast(right, guesses, examples, epsilon, prior)
        above, below = _at_least(v, r, q), _below(v, r, q)
        with np.errstate(invalid="ignore"):  # infinity times 0 where P(W < v) vanishes: p is 1 there anyway
            gain = m * delta * _tail_over_mass(v, r, q, above) * below / np.maximum(v, 1)
        return np.minimum(np.where((v == 0) | (below == 0), 1.0, above + gain), 1.0)


@dataclass(frozen=True, slots=True)
class Published:
    """The bound of Steinke, Nasr and Jagielski, for fair coins: looser than :class:`Sharp` where it matters.

    P(V >= v) <= P(W >= v) + 2 m delta max over 1 <= i <= v of P(v - i <= W < v)/i.

    Where v lies far below the mean of W the printed bound can fall under what is attained (m = 2, v = 1,
    epsilon = 3): the value returned is never below the sharp one.

    References
    ----------
    Steinke, Nasr and Jagielski (2023), main theorem.
    """

    def p_value(
        self,
        right: ArrayLike,
        guesses: ArrayLike,
        examples: ArrayLike,
        *,
        epsilon: ArrayLike,
        delta: float = 0.0,
        prior: float = 0.5,
    ) -> Array:
        """Bound the probability of at least ``right`` right guesses."""
        if prior != 0.5:
            raise InvalidInput(f"must be 0.5 for Published(), got {prior!r}: use Sharp()", field="prior")
        sharp = Sharp().p_value(right, guesses, examples, epsilon=epsilon, delta=delta)
        v, r, m, q = _broadcast(right, guesses, examples, epsilon, prior)
        printed = _at_least(v, r, q) + 2 * m * delta * _best_average(v, r, q)
        return np.minimum(np.maximum(sharp, np.where(v == 0, 1.0, printed)), 1.0)


@overload
def epsilon_one_run(
    right: int,
    guesses: int,
    examples: int,
    *,
    delta: float = ...,
    level: float = ...,
    prior: float = ...,
    tail: OneRunTail = ...,
) -> float: ...
@overload
def epsilon_one_run(
    right: ArrayLike,
    guesses: ArrayLike,
    examples: ArrayLike,
    *,
    delta: float = ...,
    level: float = ...,
    prior: float = ...,
    tail: OneRunTail = ...,
) -> NDArray[np.float64] | float: ...
def epsilon_one_run(
    right: ArrayLike,
    guesses: ArrayLike,
    examples: ArrayLike,
    *,
    delta: float = 0.0,
    level: float = 0.95,
    prior: float = 0.5,
    tail: OneRunTail = Sharp(),  # noqa: B008 - frozen, without state
) -> NDArray[np.float64] | float:
    """Bound epsilon from below by the right guesses of one run.

    The largest epsilon at which v right guesses or more have a probability of at most 1 - level. With delta = 0
    that is the Clopper-Pearson lower limit of v of r, as log odds above the prior's.

    The secrets are drawn independently. With delta > 0 the number of guesses is fixed before the run (fill up
    with coin flips, or count what is missing as wrong); with delta = 0 it may depend on the release.

    Parameters
    ----------
    right, guesses, examples
        v right of r guesses about m units; the other m - r were left out.
    delta
        The delta of the guarantee under test.
    level
        The bound is wrong with probability at most 1 - level.
    prior
        The largest probability that any single guess could have without the release: 1/2 for a coin.
    tail
        How the chance of v right guesses is bounded when delta > 0.

    Returns
    -------
    float or array
        At least 0, rounded down; an array where a count is one.

    References
    ----------
    Steinke, Nasr and Jagielski (2023); docs/proofs/epsilon_lower_bounds.md, "One run".

    Examples
    --------
    >>> round(epsilon_one_run(90, 100, 1000), 6)
    1.630823
    >>> round(epsilon_one_run(90, 100, 1000, delta=1e-4), 6)
    1.624825
    >>> round(epsilon_one_run(90, 100, 1000, delta=1e-4, tail=Published()), 6)
    1.58056
    """
    v, r = check_counts(right, guesses, names=("right", "guesses"))
    _, m = check_counts(guesses, examples, names=("guesses", "examples"))
    delta, alpha, prior = check_delta(delta), 1 - check_level(level), _check_prior(prior)
    with np.errstate(divide="ignore"):
        odds = np.log(lower_limit(v, r, alpha=alpha) / upper_limit(r - v, r, alpha=alpha))
    pure = odds - logit(prior)
    if delta == 0:
        return round_down(pure, trials=r)
    pure = np.maximum(pure, 0.0) + np.zeros(np.broadcast_shapes(v.shape, r.shape, m.shape))

    def refuted(epsilon: Array) -> NDArray[np.bool_]:
        p_value = tail.p_value(v, r, m, epsilon=epsilon, delta=delta, prior=prior)
        return p_value * (1 + _SLACK) <= alpha

    return round_down(_bisect(refuted, pure), trials=r)


def _bisect(refuted: Callable[[Array], NDArray[np.bool_]], high: Array) -> Array:
    """Return an epsilon below ``high`` that is refuted, or 0: its lower end is certified at every step.

    Which refuted epsilon is returned does not matter for coverage: see the proof, "Inversion".
    """
    low = np.zeros_like(high)
    high = np.where(refuted(low), high, 0.0)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        below = refuted(middle)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
        if np.all(high - low <= 1e-13 * (1 + low)):
            break
    return low


def _check_prior(prior: float) -> float:
    if not 0 < prior < 1:
        raise InvalidInput(f"must be in (0, 1), such as 0.5 for a fair coin, got {prior!r}", field="prior")
    return float(prior)


def _broadcast(
    right: ArrayLike, guesses: ArrayLike, examples: ArrayLike, epsilon: ArrayLike, prior: float
) -> tuple[Array, Array, Array, Array]:
    q = expit(np.asarray(epsilon, dtype=np.float64) + logit(_check_prior(prior)))
    v, r, m, q = np.broadcast_arrays(right, guesses, examples, q)
    return v.astype(np.float64), r.astype(np.float64), m.astype(np.float64), q


def _at_least(v: Array, r: Array, q: Array) -> Array:
    """P(W >= v), 1 for v <= 0."""
    inside = np.clip(v, 1, r)
    return np.where(v <= 0, 1.0, np.where(v > r, 0.0, betainc(inside, r - inside + 1, q)))


def _below(v: Array, r: Array, q: Array) -> Array:
    """P(W < v) for 0 <= v <= r."""
    inside = np.clip(v, 1, r)
    return np.where(v <= 0, 0.0, betaincc(inside, r - inside + 1, q))


def _tail_over_mass(v: Array, r: Array, q: Array, above: Array) -> Array:
    """P(W >= v)/P(W = v); where the mass underflows, the geometric series that bounds it."""
    from scipy.stats import binom  # half a second of import that pure guarantees do not need

    mass = binom.pmf(v, r, q)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (r - v) * q / ((v + 1) * (1 - q))  # P(W = v + 1)/P(W = v), and it falls from there
        series = np.where(ratio < 1, 1 / (1 - ratio), np.inf)
        return np.where(mass > 1e-290, above / mass, series)


def _best_average(v: Array, r: Array, q: Array) -> Array:
    """Return max over 1 <= i <= v of P(v - i <= W < v)/i.

    The masses of W read downwards from v - 1 rise, then fall; their running mean rises as long as the next
    mass is not below it, so the best i is found by halving.
    """
    tail = _at_least(v, r, q)

    def average(i: Array) -> Array:
        return np.maximum(_at_least(v - i, r, q) - tail, 0.0) / i

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
