"""Lower bounds on epsilon from a single run in which many units had random secrets.

m units each have a secret that the auditor drew: a fair coin decides whether the unit was in the data, or which of
two labels it had; more generally a label whose likeliest value has prior probability ``prior``. From the release
the attacker guesses r of them, and v guesses are correct. W counts successes of r draws with probability
q, where q/(1 - q) = e^epsilon prior/(1 - prior).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit

from tacit.leak.epsilon import round_down
from tacit.leak.intervals import check_counts, check_level, lower_limit, upper_limit
from tacit.leak.one_run_tails import Array, OneRunTail, check_coin_prior, sharp_tail
from tacit.privacy.rounding import check_delta

__all__ = ["epsilon_one_run"]

_SLACK = 1e-9  # relative: the tails are computed to about 1e-12
_STEPS = 100  # halvings: more than a float can resolve


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
    tail: OneRunTail = sharp_tail,
) -> NDArray[np.float64] | float:
    """Bound epsilon from below by the correct guesses of one run.

    The largest epsilon at which v right guesses or more have a probability of at most 1 - level. With delta = 0
    that is the Clopper-Pearson lower limit of v of r, as log odds above the prior's.

    The secrets are drawn independently. With delta > 0 the number of guesses is fixed before the run (fill up
    with coin flips, or count what is missing as wrong); with delta = 0 it may depend on the release.

    Parameters
    ----------
    right, guesses, examples
        v right of r guesses about m units; the other m - r were left out.
    prior
        The largest probability that any single guess could have without the release: 1/2 for a coin.
    tail
        The bound on the probability of v correct guesses if delta > 0.

    Returns
    -------
    float or array
        At least 0, rounded down; an array if a count is one.

    References
    ----------
    Steinke, Nasr and Jagielski (2023); docs/proofs/epsilon_lower_bounds.md, "One run".
    """
    v, r = check_counts(right, guesses, names=("right", "guesses"))
    _, m = check_counts(guesses, examples, names=("guesses", "examples"))
    delta, alpha, prior = check_delta(delta), 1 - check_level(level), check_coin_prior(prior)
    with np.errstate(divide="ignore"):
        odds = np.log(lower_limit(v, r, alpha=alpha) / upper_limit(r - v, r, alpha=alpha))
    pure = odds - logit(prior)
    if delta == 0:
        return round_down(pure, trials=r)
    pure = np.maximum(pure, 0.0) + np.zeros(np.broadcast_shapes(v.shape, r.shape, m.shape))

    def refuted(epsilon: Array) -> NDArray[np.bool_]:
        p_value = tail(v, r, m, epsilon=epsilon, delta=delta, prior=prior)
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
