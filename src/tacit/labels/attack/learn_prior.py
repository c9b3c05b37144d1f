"""P(label | x) from the features and the released labels of other rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from sklearn.utils import _safe_indexing

from tacit.labels.attack.evidence import Evidence
from tacit.labels.learn.model import cross_fit
from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count

__all__ = ["calibrate", "learn_prior", "unfold"]

Array = NDArray[np.float64]

_FLOOR = 1e-12  # a model's 0 is no proof
_STEPS = 200


def learn_prior(
    evidence: Evidence,
    features: Any,  # noqa: ANN401
    *,
    model: Any,  # noqa: ANN401
    folds: int,
    rng: np.random.Generator,
) -> Array:
    """Return P(label | x) for every row, from a model that has not seen that row's released label.

    The model learns P(released label | x). The channel is taken off it (:func:`unfold`), and models that are too sure
    or not sure enough are set right (:func:`calibrate`).

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from tacit.labels import RandomizedResponse, release_labels
    >>> from tacit.labels.attack import read_evidence
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(400) % 2
    >>> X = y[:, None] + rng.normal(0, 0.3, (400, 1))
    >>> release = release_labels(y, mechanism=RandomizedResponse(epsilon=1.0), rng=rng)
    >>> prior = learn_prior(read_evidence(release), X, model=GaussianNB(), folds=5, rng=rng)
    >>> bool(np.mean(prior.argmax(axis=1) == y) > 0.85)
    True
    """
    if evidence.channel is None:
        raise InvalidInput("release must be through one channel for all rows; else pass prior= to guess_labels")
    rows = features.shape[0] if hasattr(features, "shape") else len(features)
    if rows != len(evidence.present):
        raise InvalidInput(f"features must have {len(evidence.present)} rows, as the release, got {rows}")
    if not hasattr(model, "predict_proba"):
        raise InvalidInput(f"model must be a classifier with predict_proba, got {type(model).__name__}")
    check_count(folds, name="folds", least=2)
    transition, present = evidence.channel.transition, evidence.present
    targets = np.eye(transition.shape[1])[evidence.channel.outputs[present]]
    of_outputs = cross_fit(model, _safe_indexing(features, np.flatnonzero(present)), targets, folds=folds, rng=rng)
    learned = unfold(of_outputs, transition=transition, start=evidence.prior)
    prior = np.array(np.broadcast_to(evidence.prior, evidence.likelihood.shape))
    prior[present] = calibrate(learned, likelihood=evidence.likelihood[present])
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


def calibrate(prior: Array, *, likelihood: Array) -> Array:
    """Return the priors to the power, one for all rows, that makes the release likeliest.

    A regularised model is not sure enough, a naive one too sure: either costs the attack right guesses. One number from
    all rows says nothing about any of them.

    Examples
    --------
    >>> likelihood = np.array([[0.9, 0.1]] * 17 + [[0.1, 0.9]] * 3)
    >>> calibrate(np.array([[0.999, 0.001]] * 20), likelihood=likelihood)[0].round(2)
    array([0.94, 0.06])
    """
    logs = np.log(np.maximum(prior, _FLOOR))

    def loss(log_power: float) -> float:
        joint = softmax(math.exp(log_power) * logs, axis=1) * likelihood
        return -float(np.log(np.maximum(joint.sum(axis=1), _FLOOR)).sum())

    found = minimize_scalar(loss, bounds=(-4.0, 3.0), method="bounded")
    return np.asarray(softmax(math.exp(float(found.x)) * logs, axis=1))
