"""The accuracy of a model, estimated from randomized labels alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.classes import Classes
from tacit.labels.learners.released import ReleasedLabels
from tacit.labels.releases.release import Release
from tacit.privacy.errors import InvalidInput

__all__ = ["AccuracyEstimate", "released_accuracy", "score_by_release"]


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


def released_accuracy(predicted: ArrayLike, release: Release) -> AccuracyEstimate:
    """Estimate accuracy from a release of rows that the model has not seen; rows without a released label are left out.

    With u(i, c) an unbiased estimate of 1[label of i = c], the accuracy is the mean of u(i, prediction of i). For
    randomized response, which keeps a label with probability pi and makes it another one with probability q each, that
    is (t - q)/(pi - q) with t the share of predictions that were released.

    References
    ----------
    Formula sheet (b).
    """
    evidence = release.evidence
    estimates = evidence.unbiased
    if estimates is None:
        raise InvalidInput(
            f"must be by a mechanism with an unbiased accuracy, got {release.asked.mechanism}", field="release"
        )
    codes = Classes(values=evidence.classes).encode(np.asarray(predicted))
    right = estimates[np.arange(len(codes)), codes][evidence.present]
    return AccuracyEstimate(value=float(right.mean()), standard_error=float(right.std() / math.sqrt(len(right))))


def score_by_release(model: Any, X: ArrayLike, y: ReleasedLabels) -> float:  # noqa: ANN401
    """Return the accuracy by :func:`released_accuracy`: the ``scoring`` of a search on :class:`ReleasedLabels`.

    scikit-learn's own scorer would need true labels, and would read them.
    """
    return released_accuracy(model.predict(X), y.release).value
