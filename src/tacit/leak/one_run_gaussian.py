"""The epsilon of Gaussian noise from below: its whole trade-off curve is tested, not one point of it.

The curve says more than (epsilon, delta): an event that has probability x under one secret has at most probability
Phi(Phi^-1(x) + mu) under the other, for all x at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, ndtr, ndtri

from tacit.leak.intervals import check_counts, check_level, lower_limit, upper_limit
from tacit.privacy.rounding import check_delta

__all__ = ["gaussian_epsilon", "is_refuted", "mu_from_rates", "mu_one_run"]

Array = NDArray[np.float64]

_SLACK = 1e-9  # rounding of a recursion over all right guesses
_HALVINGS = 20
_LARGEST = 40.0  # a larger mu protects nobody


def mu_from_rates(found: int, positives: int, mistaken: int, negatives: int, *, level: float = 0.95) -> float:
    """Bound the mu of Gaussian noise from below by two error rates of independent runs.

    TPR <= Phi(Phi^-1(FPR) + mu), with the Clopper-Pearson lower limit of TPR and upper limit of FPR, half of the error
    each. Holds for mechanisms whose trade-off curve is that of some Gaussian noise; :func:`gaussian_epsilon` has the
    epsilon.

    References
    ----------
    Dong, Roth and Su (2022), Definition 2.6; docs/proofs/epsilon_lower_bounds.md, "By the curve".
    """
    (k, n), (j, o) = (
        check_counts(found, positives, names=("found", "positives")),
        check_counts(mistaken, negatives, names=("mistaken", "negatives")),
    )
    alpha = (1 - check_level(level)) / 2
    found_at_least, mistaken_at_most = lower_limit(k, n, alpha=alpha), upper_limit(j, o, alpha=alpha)
    return max(0.0, float(ndtri(found_at_least) - ndtri(mistaken_at_most)) - _SLACK)


def mu_one_run(right: ArrayLike, guesses: ArrayLike, examples: ArrayLike, *, level: float = 0.95) -> float:
    """Bound the mu of Gaussian noise from below by the right guesses of one run.

    Holds for mechanisms whose trade-off curve is that of some Gaussian noise; for any other use
    :func:`tacit.leak.epsilon_one_run`. Of several counts the best bound is taken, and they share the error.

    Parameters
    ----------
    right, guesses, examples
        v right of r guesses about m units with a fair coin each; r is fixed before the run.

    References
    ----------
    Mahloujifar, Melis and Chaudhuri (2025), Algorithm 3; docs/proofs/epsilon_lower_bounds.md, "By the curve".
    """
    v, r = check_counts(right, guesses, names=("right", "guesses"))
    _, m = check_counts(guesses, examples, names=("guesses", "examples"))
    counts = [np.atleast_1d(count).astype(np.float64) for count in np.broadcast_arrays(v, r, m)]
    alpha = (1 - check_level(level)) / len(counts[0])
    low, high = 0.0, _LARGEST
    if not is_refuted(_gaussian(low), *counts, alpha=alpha):
        return 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_refuted(_gaussian(middle), *counts, alpha=alpha) else (low, middle)
    return low


def is_refuted(curve: Callable[[Array], Array], right: Array, guesses: Array, examples: Array, *, alpha: float) -> bool:
    """Say whether a probability of ``alpha`` for so many right guesses contradicts a trade-off curve, for any count.

    Parameters
    ----------
    curve
        y -> the least probability under one secret of an event that has probability y under the other.
    """
    return bool((_least_probability(curve, right, guesses, examples, alpha) > 1 + _SLACK).any())


def _least_probability(curve: Callable[[Array], Array], v: Array, r: Array, m: Array, tail: float) -> Array:
    """The least total probability of the numbers of right guesses, if v or more have probability ``tail``.

    ``hit`` and ``missed`` are the chances that a unit is guessed right, or wrong, and that j or more guesses are right.
    """
    hit, missed = v * tail / m, (r - v) * tail / m
    for j in range(int(v.max()), 0, -1):
        least = np.where(j <= v, np.maximum(missed, curve(hit)), missed)
        if j <= v.min() and (least == missed).all():
            break  # nothing changes any more
        hit = hit + (j - 1) / np.maximum(r - j + 1, 1) * (least - missed)
        missed = least
    return np.asarray((hit + missed) * m / r)


def gaussian_epsilon(mu: float, *, delta: float) -> float:
    """Return the epsilon of mu-Gaussian noise at ``delta``, rounded down.

    delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu).

    References
    ----------
    Dong, Roth and Su (2022), Corollary 2.13.
    """
    check_delta(delta)
    low, high = 0.0, mu * (mu / 2 + 40)
    if mu == 0 or _gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _gaussian_delta(mu, middle) > delta else (low, middle)
    return low


def _gaussian_delta(mu: float, epsilon: float) -> float:
    return float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu)))


def _gaussian(mu: float) -> Callable[[Array], Array]:
    return lambda y: ndtr(ndtri(np.minimum(y, 1.0)) - mu)
