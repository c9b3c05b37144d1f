"""P(label | x) from the features and the released labels of other rows."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from sklearn.utils import _safe_indexing

from tacit.labels.fitting.expect import balance, calibrate, expect_outside, posterior_targets
from tacit.labels.fitting.model import cross_fit
from tacit.labels.mechanisms.evidence import Evidence
from tacit.labels.mechanisms.shares import unfold
from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count

__all__ = ["learn_prior", "weigh"]

Array = NDArray[np.float64]

_FLOOR = 1e-12  # a model's 0 is no proof
_WEIGHTS = (1.0, 0.9, 0.7, 0.4)
_CHANCE = 2.0  # log-likelihood; half a chi-squared of two degrees of freedom is above it in 14% of draws


def learn_prior(evidence: Evidence, features: Any, *, model: Any, folds: int, rng: np.random.Generator) -> Array:  # noqa: ANN401
    """Return P(label | x) for every row, from a model that has not seen that row's released label.

    The model learns P(released label | x), and the channel is inverted (:func:`unfold`). If rows went through
    different channels, or through one without finitely many outputs, the model learns posteriors instead, in two
    rounds of expectation maximization (:func:`~tacit.labels.fitting.expect.expect_outside`). Either is weighted
    against what the release says about all labels (:func:`weigh`), so that features without information do no harm.
    """
    rows = features.shape[0] if hasattr(features, "shape") else len(features)
    if rows != len(evidence.present):
        raise InvalidInput(f"must have {len(evidence.present)} rows, as the release, got {rows}", field="features")
    if not hasattr(model, "predict_proba"):
        raise InvalidInput(f"must be a classifier with predict_proba, got {type(model).__name__}", field="model")
    check_count(folds, name="folds", least=2)
    present = evidence.present
    X, likelihood = _safe_indexing(features, np.flatnonzero(present)), evidence.likelihood[present]
    if evidence.channel is None:
        # flat at first: models of soft targets shrink to where these start, and calibration undoes that from flat
        start = posterior_targets(np.full_like(likelihood, 1 / likelihood.shape[1]), likelihood)
        learned = expect_outside(model, X, likelihood=likelihood, start=start, rounds=2, folds=max(3, folds), rng=rng)
        learned = calibrate(balance(learned, likelihood=likelihood), likelihood=likelihood)
    else:
        transition = evidence.channel.transition
        targets = np.eye(transition.shape[1])[evidence.channel.outputs[present]]
        of_outputs = cross_fit(model, X, targets, folds=folds, rng=rng)
        learned = unfold(of_outputs, transition=transition, start=evidence.shares)
    prior = np.array(np.broadcast_to(evidence.shares, evidence.likelihood.shape))
    prior[present] = weigh(learned, common=prior[present], likelihood=likelihood)
    return prior


def weigh(learned: Array, *, common: Array, likelihood: Array) -> Array:
    """Return the mix of a learned and a common prior that makes the released labels likeliest.

    (1 - w) common + w base^(1-a) learned^a, scaled to sum to 1, for one w, one a, and as base the common prior or equal
    probabilities: the power corrects models that are overconfident or not confident enough, and the weight limits how
    sure any row can be. The common prior stands unless the mix gains more log-likelihood than two numbers gain by
    chance. Two numbers from all rows say nothing about any of them.

    Examples
    --------
    >>> likelihood = np.array([[0.9, 0.1]] * 17 + [[0.1, 0.9]] * 3)
    >>> wrong = np.array([[0.001, 0.999]] * 20)
    >>> weigh(wrong, common=np.full((20, 2), [0.8, 0.2]), likelihood=likelihood)[0]
    array([0.8, 0.2])
    """
    shares, logs = (np.log(np.maximum(one, _FLOOR)) for one in (common, learned))

    def mix(weight: float, base: Array, log_power: float) -> Array:
        powered = softmax(base + np.exp(log_power) * (logs - base), axis=1)
        return np.asarray((1 - weight) * common + weight * powered)

    def gain(prior: Array) -> float:
        return float(np.log(np.maximum((prior * likelihood).sum(axis=1), _FLOOR)).sum())

    best, most = common, gain(common) + _CHANCE
    for weight, base in product(_WEIGHTS, (shares, np.zeros_like(shares))):
        found = minimize_scalar(lambda log_power, w=weight, b=base: -gain(mix(w, b, log_power)), bounds=(-4.0, 3.0))
        if -found.fun > most:
            best, most = mix(weight, base, float(found.x)), -float(found.fun)
    return best
