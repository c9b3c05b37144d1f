"""The accuracy of a model, estimated from randomized labels alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from tacit.data.classes import Classes
from tacit.labels.releases.release import Release
from tacit.privacy.errors import InvalidInput

__all__ = ["AccuracyEstimate", "debiased_accuracy", "debiased_scorer", "released_accuracy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyEstimate:
    """An unbiased estimate of accuracy, with its standard error.

    ``value`` may lie outside [0, 1], so that means of it stay unbiased; what is shown does not.
    """

    value: float
    standard_error: float

    @property
    def possible(self) -> float:
        """The accuracy nearest to the estimate."""
        return min(max(self.value, 0.0), 1.0)

    @property
    def interval(self) -> tuple[float, float]:
        """The accuracies within 1.96 standard errors of the estimate, about 95% of the time the true one."""
        margin = 1.96 * self.standard_error
        low, high = (min(max(self.value + side, 0.0), 1.0) for side in (-margin, margin))
        return low, high

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.possible:.3f} (95% interval {low:.3f} to {high:.3f})"


def debiased_accuracy(predicted: ArrayLike, noisy: ArrayLike, *, transition: NDArray[np.float64]) -> AccuracyEstimate:
    """Estimate accuracy on the true labels from randomized-response labels of rows the model has not seen.

    The agreement t has expectation q + a (pi - q), so a = (t - q)/(pi - q), with standard error
    sqrt(t (1 - t)/n)/(pi - q).

    Parameters
    ----------
    predicted, noisy
        Classes or class codes. The noise must be independent of the predictor: rows it was not trained on. Rows
        without a released label, None or NaN, are left out.
    transition
        Of randomized response: one probability pi on the diagonal, another, q, off it.

    References
    ----------
    Formula sheet (b).

    Examples
    --------
    >>> from tacit.labels.mechanisms import RandomizedResponse
    >>> T = RandomizedResponse(epsilon=1.0, classes=2).transition()
    >>> print(debiased_accuracy([0, 1, 1, 0], [0, 1, 1, 1], transition=T))
    1.000 (95% interval 0.123 to 1.000)
    """
    guesses, given = np.asarray(predicted), np.asarray(noisy)
    if guesses.shape != given.shape or guesses.ndim != 1 or not len(given):
        raise InvalidInput(f"predicted and noisy must be columns of the same rows, got {guesses.shape}, {given.shape}")
    present = ~pd.isna(given)
    guesses, given = guesses[present], given[present]
    if not len(given):
        raise InvalidInput("must have at least one label, got only missing ones", field="noisy")
    pi, q = _keep_and_switch(transition)
    t = float(np.mean(guesses == given))
    error = math.sqrt(t * (1 - t) / len(given)) / (pi - q)
    return AccuracyEstimate(value=(t - q) / (pi - q), standard_error=error)


def released_accuracy(predicted: ArrayLike, release: Release) -> AccuracyEstimate | None:
    """Estimate accuracy from a release of rows that the model has not seen; None without an unbiased estimate.

    With u(i, c) an unbiased estimate of 1[label of i = c], the accuracy is the mean of u(i, prediction of i). For
    randomized response that is :func:`debiased_accuracy`.
    """
    evidence = release.evidence
    estimates = evidence.unbiased
    if estimates is None or not evidence.present.any():
        return None
    codes = Classes(values=evidence.classes).encode(np.asarray(predicted))
    right = estimates[np.arange(len(codes)), codes][evidence.present]
    return AccuracyEstimate(value=float(right.mean()), standard_error=float(right.std() / math.sqrt(len(right))))


def debiased_scorer(*, transition: NDArray[np.float64]) -> Any:  # noqa: ANN401  # scikit-learn's scorers have no type
    """Return a scikit-learn scorer that reads randomized labels and returns the de-biased accuracy.

    For a search on one release: scikit-learn's own scorer would need true labels, and would read them.
    """

    def score(model: Any, X: ArrayLike, y: ArrayLike) -> float:  # noqa: ANN401
        return debiased_accuracy(model.predict(X), y, transition=transition).value

    return score


def _keep_and_switch(transition: NDArray[np.float64]) -> tuple[float, float]:
    pi, q = float(transition[0, 0]), float(transition[0, 1])
    expected = np.where(np.eye(len(transition), dtype=bool), pi, q)
    if transition.shape != expected.shape or not np.allclose(transition, expected, rtol=0, atol=1e-12) or pi <= q:
        raise InvalidInput(
            "must be that of randomized response: one value on the diagonal, another off it", field="transition"
        )
    return pi, q
