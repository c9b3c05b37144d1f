"""Upper bounds on the accuracy of the best attacker, for any private mechanism."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count, check_delta, check_epsilon

__all__ = [
    "advantage_limit",
    "check_distributions",
    "check_prior",
    "largest_accuracy",
    "largest_advantage",
]


def largest_accuracy(prior: ArrayLike, *, epsilon: float, delta: float = 0.0) -> float:
    """Return the best attacker's accuracy against the leakiest (epsilon, delta)-private mechanism.

    delta + (1 - delta) max over k of e^epsilon P_k/(e^epsilon + k - 1), P_k the sum of the k largest priors: the exact
    optimum over all mechanisms, reached by randomized response on the k likeliest labels. With a row of ``prior`` per
    unit, the mean over units.

    References
    ----------
    Ghazi et al. (2021), Theorem 3 (randomized response with prior); docs/proofs/epsilon_lower_bounds.md, "Label
    inference".
    """
    p = -np.sort(-check_prior(prior), axis=1)
    epsilon, delta = check_epsilon(epsilon, zero=True), check_delta(delta)
    # e^-epsilon: e^epsilon overflows where nothing is protected
    k = np.arange(p.shape[1])
    pure = (np.cumsum(p, axis=1) / (1 + k * math.exp(-epsilon))).max(axis=1)
    return float(np.mean(delta + (1 - delta) * pure))


def largest_advantage(prior: ArrayLike, *, epsilon: float, delta: float = 0.0) -> float:
    """Return the largest advantage over guessing from the prior, for the leakiest mechanism.

    References
    ----------
    Wu et al. (2023) (expected attack advantage).
    """
    best = float(check_prior(prior).max(axis=1).mean())
    return max(0.0, largest_accuracy(prior, epsilon=epsilon, delta=delta) - best)


def advantage_limit(*, epsilon: float, delta: float = 0.0, classes: int | None = None) -> float:
    """Return the largest advantage over all priors, for any number of classes if none is given.

    Pure, K classes: max over k <= K of (e^epsilon - 1)(k - 1)/(k (e^epsilon + k - 1)), so tanh(epsilon/2)/2 for two
    classes, and never more than tanh(epsilon/4). With delta: delta (1 - 1/k) + (1 - delta) times that.

    References
    ----------
    docs/proofs/epsilon_lower_bounds.md, "Label inference".
    """
    epsilon, delta = check_epsilon(epsilon, zero=True), check_delta(delta)
    if classes is None:
        return delta + (1 - delta) * math.tanh(epsilon / 4)
    # the worst prior is uniform on some k of the classes
    k = np.arange(2, check_count(classes, name="classes", least=2) + 1)
    pure = -math.expm1(-epsilon) * (k - 1) / (k * (1 + (k - 1) * math.exp(-epsilon)))
    return float((delta * (1 - 1 / k) + (1 - delta) * pure).max())


def check_prior(prior: ArrayLike) -> NDArray[np.float64]:
    """Return priors as rows, or raise unless each is a distribution over two labels or more."""
    return check_distributions(prior, "prior", two="labels")


def check_distributions(values: ArrayLike, name: str, *, two: str | None) -> NDArray[np.float64]:
    """Return distributions as rows, or raise with their name."""
    try:
        rows = np.atleast_2d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} must be rows of equal length of numbers") from None
    if rows.ndim != 2 or rows.size == 0 or (two and rows.shape[1] < 2):
        raise InvalidInput(
            f"{name} must be rows of probabilities{f' of two {two} or more' if two else ''}, got shape {rows.shape}"
        )
    if np.isnan(rows).any() or rows.min() < 0:
        raise InvalidInput(f"{name} must be probabilities >= 0, got {np.nanmin(rows):g} or NaN among them")
    sums = rows.sum(axis=1)
    worst = float(sums[np.abs(sums - 1).argmax()])
    if abs(worst - 1) > 1e-9:
        raise InvalidInput(f"{name} must be probabilities that sum to 1, got a sum of {worst:g}")
    return rows
