"""P(label | x) from the features and the released labels of other rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from tacit.labels.fitting.expect import calibrate, expect_outside, posterior_targets
from tacit.labels.fitting.model import cross_fit
from tacit.labels.mechanisms.evidence import Evidence
from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count

__all__ = ["learn_prior", "unfold"]

Array = NDArray[np.float64]

_FLOOR = 1e-12  # a model's 0 is no proof
_STEPS = 200


def learn_prior(evidence: Evidence, features: Any, *, model: Any, folds: int, rng: np.random.Generator) -> Array:  # noqa: ANN401
    """Return P(label | x) for every row, from a model that has not seen that row's released label.

    The model learns P(released label | x). The channel is taken off it (:func:`unfold`), and models that are too sure
    or not sure enough are set right (:func:`~tacit.labels.fitting.expect.calibrate`). Where rows went through different
    channels, or through one without finitely many outputs, the model learns posteriors instead, in two rounds of
    expectation maximization (:func:`~tacit.labels.fitting.expect.expect_outside`).
    """
    rows = features.shape[0] if hasattr(features, "shape") else len(features)
    if rows != len(evidence.present):
        raise InvalidInput(f"must have {len(evidence.present)} rows, as the release, got {rows}", field="features")
    if not hasattr(model, "predict_proba"):
        raise InvalidInput(f"must be a classifier with predict_proba, got {type(model).__name__}", field="model")
    check_count(folds, name="folds", least=2)
    present = evidence.present
    X, likelihood = _safe_indexing(features, np.flatnonzero(present)), evidence.likelihood[present]
    prior = np.array(np.broadcast_to(evidence.prior, evidence.likelihood.shape))
    if evidence.channel is None:
        # flat at first: models of soft targets shrink to where these start, and calibration undoes that from flat
        start = posterior_targets(np.full_like(likelihood, 1 / likelihood.shape[1]), likelihood)
        prior[present] = expect_outside(
            model, X, likelihood=likelihood, start=start, rounds=2, folds=max(3, folds), rng=rng
        )
        return prior
    transition = evidence.channel.transition
    targets = np.eye(transition.shape[1])[evidence.channel.outputs[present]]
    of_outputs = cross_fit(model, X, targets, folds=folds, rng=rng)
    learned = unfold(of_outputs, transition=transition, start=evidence.prior)
    prior[present] = calibrate(learned, likelihood=likelihood)
    return prior


def unfold(outputs: Array, *, transition: Array, start: Array) -> Array:
    """Return P(label | x) from P(output | x): the maximum-likelihood one, found from ``start``.

    p(y) <- p(y) sum over z of q(z) T[y,z]/(p T)(z). Labels that the channel cannot tell apart keep the ratio they have
    in ``start``; few steps keep a noisy q from being magnified.

    References
    ----------
    Richardson (1972); Lucy (1974).

    Examples
    --------
    >>> T = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> unfold(np.array([[0.7, 0.3]]), transition=T, start=np.array([[0.5, 0.5]])).round(3)
    array([[0.9, 0.1]])
    """
    p = np.maximum(np.broadcast_to(start, (len(outputs), len(transition))), _FLOOR)
    for _ in range(_STEPS):
        change = (outputs / np.maximum(p @ transition, _FLOOR)) @ transition.T
        p = p * change
        if np.all(np.abs(change - 1) * p < 1e-6):
            break
    return np.asarray(p / p.sum(axis=1, keepdims=True))
