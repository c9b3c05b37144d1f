"""Say that a fit has lost what its targets know, as under a penalty that is too strong for the features."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from tacit.labels.fitting.denoise import NoisyLabels

__all__ = ["FlattenedModelWarning", "warn_if_flattened"]

_KEPT = 0.8  # of the information in the targets, which a fit that suits them exceeds
_SURE = 10.0  # log-likelihood that the targets must gain to be worth a warning

Array = NDArray[np.float64]


class FlattenedModelWarning(UserWarning):
    """The model makes much less of the labels than the targets that it was fitted to."""


def warn_if_flattened(probabilities: Array, targets: Array, noisy: NoisyLabels) -> None:
    """Warn if the released labels are far less likely under the model than under the targets that it was fitted to.

    Both are compared with the rates of the classes. The target of a row is a prior times the likelihood of its own
    label, so the prior is known; targets that are labels, or likelihoods, have none.
    """
    if (targets.max(axis=1) > 1 - 1e-9).all():
        return
    prior = targets / np.maximum(noisy.likelihood, 1e-12)
    prior /= prior.sum(axis=1, keepdims=True)
    rates = np.broadcast_to(prior.mean(axis=0), prior.shape)
    base = _log_likelihood(rates, noisy)
    known, kept = _log_likelihood(prior, noisy) - base, _log_likelihood(probabilities, noisy) - base
    if known > _SURE and kept < _KEPT * known:
        warnings.warn(
            f"the model keeps {max(0.0, kept / known):.0%} of what its targets know of the labels: its penalty is too "
            "strong for features of this size, or it is too simple; put a StandardScaler before it, weaken the "
            "penalty, or take another estimator",
            FlattenedModelWarning,
            stacklevel=4,
        )


def _log_likelihood(probabilities: Array, noisy: NoisyLabels) -> float:
    weights = 1.0 if noisy.sample_weight is None else noisy.sample_weight
    return float((weights * np.log(np.maximum((probabilities * noisy.likelihood).sum(axis=1), 1e-300))).sum())
