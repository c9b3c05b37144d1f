"""Say that a fit has forgotten a class: a constant, or a model of fewer classes than the release has."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.labels.fitting.denoise import NoisyLabels
from tacit.labels.fitting.shares import class_rates

__all__ = ["ForgottenClassWarning", "warn_if_forgotten"]

Array = NDArray[np.float64]

_SELDOM = 0.1  # of its share of the labels, in a class's mean probability
_CLEAR = 5.0  # log-likelihood that the release loses without the class
_NAMED = 5


class ForgottenClassWarning(UserWarning):
    """The model hardly ever gives a class any probability that the released labels show there is."""


def warn_if_forgotten(probabilities: Array, noisy: NoisyLabels, *, classes: Sequence[Any]) -> None:
    """Warn if classes whose estimated share is clear have almost no probability in the model's predictions."""
    likelihood, mean = noisy.likelihood, probabilities.mean(axis=0)
    shares = class_rates(likelihood, np.ones(len(likelihood)))
    suspects = np.flatnonzero(mean < _SELDOM * shares)
    lost = [place for place in suspects.tolist() if _is_clear(place, likelihood, shares)]
    if not lost:
        return
    names = ", ".join(f"{classes[place]!r} ({shares[place]:.2%} of the labels)" for place in lost[:_NAMED])
    warnings.warn(
        f"the fitted model has forgotten {len(lost)} of {len(classes)} classes: {names}; use an estimator with "
        "probabilities and sample_weight, such as LikelihoodRegression, more rows or a larger epsilon",
        ForgottenClassWarning,
        stacklevel=4,
    )


def _is_clear(place: int, likelihood: Array, shares: Array) -> bool:
    without = np.where(np.arange(len(shares)) == place, 0.0, shares)
    if not without.sum():
        return True
    least = np.finfo(float).tiny
    gain = np.log(np.maximum(likelihood @ shares, least)) - np.log(
        np.maximum(likelihood @ (without / without.sum()), least)
    )
    return float(gain.sum()) > _CLEAR
