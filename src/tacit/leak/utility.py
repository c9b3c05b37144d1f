"""The accuracy of the best attacker: for a given mechanism, and the upper bound for any private one."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count, check_delta, check_epsilon

__all__ = [
    "advantage_limit",
    "bayes_accuracy",
    "check_prior",
    "check_transition",
    "largest_accuracy",
    "largest_advantage",
]


def bayes_accuracy(transition: ArrayLike, prior: ArrayLike) -> float:
    """Return how often the best guess of a label from a finite mechanism's output is correct.

    sum over outputs z of max over labels y of prior(y) P(z | y), where P(z | y) is ``transition[y, z]``: the expected
    utility of the Bayes attack. With a row of ``prior`` per unit, the mean over units.

    References
    ----------
    Wu et al. (2023), Section 4 (expected attack utility).
    """
    T, p = check_transition(transition), check_prior(prior)
    if T.shape[0] != p.shape[1]:
        raise InvalidInput(f"must have one entry for each of the {T.shape[0]} labels, got {p.shape[1]}", field="prior")
    # output by output: rows x labels at a time, never rows x labels x outputs
    return float(sum((p * column).max(axis=1).mean() for column in T.T))


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
    return _distributions(prior, "prior", two="labels")


def check_transition(transition: ArrayLike) -> NDArray[np.float64]:
    """Return a transition matrix, or raise unless each row is a distribution over outputs."""
    T = _distributions(transition, "transition", two=None)
    if len(T) < 2:
        raise InvalidInput(f"must have a row for each of two labels or more, got {len(T)}", field="transition")
    return T


def _distributions(values: ArrayLike, name: str, *, two: str | None) -> NDArray[np.float64]:
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
