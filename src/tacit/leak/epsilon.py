"""Lower bounds on epsilon from an attack's error rates, which no mechanism with a smaller epsilon allows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.leak.intervals import check_counts, check_level, lower_limit, upper_limit
from tacit.leak.stored_result import StoredResult
from tacit.privacy.rounding import check_delta

__all__ = ["ERROR_RATES", "ONE_RUN", "EpsilonBound", "epsilon_from_rates", "round_down"]

ONE_RUN, ERROR_RATES = "right guesses of one run", "error rates of independent runs"
"""The methods of a bound on epsilon whose largest value is known."""

_ROUNDING = 1e-12  # a thousand times the rounding of a few trials' quantiles and of the logarithms above them
_ROUNDING_A_TRIAL = 1e-16  # the quantiles of 10^8 trials are off by up to 3e-9 of themselves, and two are taken


@dataclass(frozen=True, slots=True, kw_only=True)
class EpsilonBound(StoredResult):
    """A lower bound on epsilon at ``delta``: wrong with probability at most 1 - ``level``.

    Parameters
    ----------
    value
        Every (epsilon, delta) guarantee with an epsilon below this is refuted.
    delta
        The delta of the bound, which also holds for every smaller delta.
    """

    value: float
    delta: float
    level: float
    method: str

    def __str__(self) -> str:
        # cut, not rounded: the digits shown are proved too
        shown = math.floor(self.value * 1000) / 1000
        delta = f" at delta {self.delta:g}" if self.delta else ""
        return f"epsilon is at least {shown:.3f}{delta} ({100 * self.level:.4g}% confidence, {self.method})"


@overload
def epsilon_from_rates(
    true_positives: int,
    positives: int,
    false_positives: int,
    negatives: int,
    *,
    delta: float = ...,
    level: float = ...,
) -> float: ...
@overload
def epsilon_from_rates(
    true_positives: ArrayLike,
    positives: ArrayLike,
    false_positives: ArrayLike,
    negatives: ArrayLike,
    *,
    delta: float = ...,
    level: float = ...,
) -> NDArray[np.float64] | float: ...
def epsilon_from_rates(
    true_positives: ArrayLike,
    positives: ArrayLike,
    false_positives: ArrayLike,
    negatives: ArrayLike,
    *,
    delta: float = 0.0,
    level: float = 0.95,
) -> NDArray[np.float64] | float:
    """Bound epsilon from below by an attack's error rates over many independent runs.

    With one-sided limits, each wrong with probability (1 - level)/2,

    epsilon >= max(log((TPR_low - delta)/FPR_high), log((1 - FPR_high - delta)/(1 - TPR_low))).

    Each trial must be independent of the others: one score per run, or a mechanism that treats every unit
    separately. Many units scored on one trained model are not: use :func:`tacit.leak.epsilon_one_run`. The guessing
    rule must be fixed before these trials are seen.

    Parameters
    ----------
    true_positives, positives
        Trials with the unit (or with the first of two labels), and how many of them were guessed so.
    false_positives, negatives
        Trials without it (or with the second label), and how many of them were guessed to have it.

    Returns
    -------
    float or array
        At least 0, rounded down; an array if a count is one.

    References
    ----------
    Kairouz, Oh and Viswanath (2015), Theorem 2.1 (error region); Jagielski, Ullman and Oprea (2020).

    Examples
    --------
    >>> round(epsilon_from_rates(90, 100, 10, 100), 6)
    1.542152
    >>> epsilon_from_rates([90, 500], [100, 1000], [10, 0], [100, 1000]).round(6)
    array([1.542152, 4.846162])
    """
    tp, pos = check_counts(true_positives, positives, names=("true_positives", "positives"))
    fp, neg = check_counts(false_positives, negatives, names=("false_positives", "negatives"))
    delta, alpha = check_delta(delta), (1 - check_level(level)) / 2
    # complements from their own counts: 1 - limit would cancel
    hit, miss = lower_limit(tp, pos, alpha=alpha), upper_limit(pos - tp, pos, alpha=alpha)
    clear, alarm = lower_limit(neg - fp, neg, alpha=alpha), upper_limit(fp, neg, alpha=alpha)
    with np.errstate(divide="ignore"):
        detected = np.log(np.maximum(hit - delta, 0) / alarm)
        rejected = np.log(np.maximum(clear - delta, 0) / miss)
    return round_down(np.maximum(detected, rejected), trials=np.maximum(pos, neg))


def round_down(epsilon: NDArray[np.float64], *, trials: NDArray[np.int64]) -> NDArray[np.float64] | float:
    """Return a bound that float rounding cannot have raised, and never below 0."""
    margin = _ROUNDING + _ROUNDING_A_TRIAL * trials
    down = np.maximum(epsilon - margin * (1 + np.abs(epsilon)), 0.0)
    return down if down.ndim else float(down)
