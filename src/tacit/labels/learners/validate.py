"""The accuracy of a model, estimated from randomized labels alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.data.classes import Classes
from tacit.labels.learners.released import ReleasedLabels
from tacit.labels.releases.release import Release
from tacit.leak.performance import MetricEstimate, estimate_mean
from tacit.privacy.errors import InvalidInput

__all__ = ["estimate_accuracy", "released_accuracy", "score_by_release"]

_WIDTH = 1.96  # standard errors at 95%


def released_accuracy(predicted: ArrayLike, release: Release) -> MetricEstimate:
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
    return estimate_accuracy(estimates[np.arange(len(codes)), codes][evidence.present])


def estimate_accuracy(right: NDArray[np.float64]) -> MetricEstimate:
    """Return the mean of which predictions are right, with its 95% interval.

    The mean may lie outside [0, 1], so that means of it stay unbiased; the interval does not.
    """
    return replace(estimate_mean(right, _WIDTH, most=1.0), value=float(right.mean()))


def score_by_release(model: Any, X: ArrayLike, y: ReleasedLabels) -> float:  # noqa: ANN401
    """Return the accuracy by :func:`released_accuracy`: the ``scoring`` of a search on :class:`ReleasedLabels`.

    scikit-learn's own scorer would need true labels, and would read them.
    """
    return released_accuracy(model.predict(X), y.release).value
