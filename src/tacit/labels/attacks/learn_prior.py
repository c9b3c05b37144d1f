"""P(label | x) from the features and the released labels of other rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from sklearn.model_selection import KFold
from sklearn.utils import _safe_indexing

from tacit.labels.fitting.expect import balance, calibrate, expect_outside, posterior_targets
from tacit.labels.fitting.likelihood import NoSignalWarning
from tacit.labels.fitting.model import cross_fit, fresh_copy
from tacit.labels.fitting.shares import unfold
from tacit.labels.mechanisms.evidence import ReleasedEvidence
from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count

__all__ = ["learn_prior", "scale_shares", "weigh"]

Array = NDArray[np.float64]

_FLOOR = 1e-12  # a model's 0 is no proof
_ROUNDS, _SETTLED = 100, 1e-4
_WEIGHTS = (1.0, 0.9, 0.7, 0.4)
_LOG_POWERS = tuple(range(-4, 4))  # about which the best power is looked for
_CELLS, _LEAST_ROWS = 1_000_000, 500  # of the rows that two numbers are chosen by; more change them little
_CHANCE = 2.0  # log-likelihood; half a chi-squared of two degrees of freedom is above it in 14% of draws


def learn_prior(
    evidence: ReleasedEvidence,
    features: Any,  # noqa: ANN401
    *,
    model: Any,  # noqa: ANN401
    folds: int,
    rng: np.random.Generator,
) -> Array:
    """Return P(label | x) for every row, from a model that has not seen that row's released label.

    A model with ``fit_likelihoods`` maximizes the likelihood of the released labels, whatever the mechanism. Any other
    learns P(released label | x), and the channel is inverted (:func:`unfold`); if rows went through different channels,
    or through one without finitely many outputs, it learns posteriors, in two rounds of expectation maximization
    (:func:`~tacit.labels.fitting.expect.expect_outside`). Classes are then as frequent as the release says
    (:func:`scale_shares`), and all is weighted against that (:func:`weigh`), so that features without information do no
    harm.
    """
    rows = features.shape[0] if hasattr(features, "shape") else len(features)
    if rows != len(evidence.present):
        raise InvalidInput(f"must have {len(evidence.present)} rows, as the release, got {rows}", field="features")
    if not hasattr(model, "predict_proba"):
        raise InvalidInput(f"must be a classifier with predict_proba, got {type(model).__name__}", field="model")
    check_count(folds, name="folds", least=2)
    present = evidence.present
    X, likelihood = _safe_indexing(features, np.flatnonzero(present)), evidence.likelihood[present]
    if hasattr(model, "fit_likelihoods"):
        learned = _likeliest(model, X, likelihood, folds=folds, rng=rng)
    elif evidence.channel is None:
        learned = _expected(model, X, likelihood, folds=folds, rng=rng)
    else:
        transition = evidence.channel.transition
        targets = np.eye(transition.shape[1])[evidence.channel.outputs[present]]
        of_outputs = cross_fit(model, X, targets, folds=folds, rng=rng)
        learned = unfold(of_outputs, transition=transition, start=evidence.shares)
    prior = np.array(np.broadcast_to(evidence.shares, evidence.likelihood.shape))
    common = prior[present]
    shares = common.mean(axis=0)
    weighed = weigh(scale_shares(learned, shares=shares), common=common, likelihood=likelihood)
    prior[present] = scale_shares(weighed, shares=shares)
    return prior


def _likeliest(model: Any, X: Any, likelihood: Array, *, folds: int, rng: np.random.Generator) -> Array:  # noqa: ANN401
    """Fit the released likelihood of the other folds; the penalty, one number for all rows, is that of all folds."""
    if len(likelihood) < 2 * folds:
        folds = max(2, len(likelihood))
    learned, model = np.empty_like(likelihood), fresh_copy(model, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoSignalWarning)  # what gains nothing is not weighed
        chosen = model.fit_likelihoods(X, likelihood)
        known = {"penalty": chosen.penalty_, "shrinkage": chosen.shrinkage_}
        for seen, unseen in KFold(folds, shuffle=True, random_state=int(rng.integers(2**31))).split(likelihood):
            one = fresh_copy(model, rng).set_params(**known)
            one.fit_likelihoods(_safe_indexing(X, seen), likelihood[seen])
            learned[unseen] = one.predict_proba(_safe_indexing(X, unseen))
    return learned


def _expected(model: Any, X: Any, likelihood: Array, *, folds: int, rng: np.random.Generator) -> Array:  # noqa: ANN401
    # flat at first: models of soft targets shrink to where these start, and calibration undoes that from flat
    start = posterior_targets(np.full_like(likelihood, 1 / likelihood.shape[1]), likelihood)
    learned = expect_outside(model, X, likelihood=likelihood, start=start, rounds=2, folds=max(3, folds), rng=rng)
    return calibrate(balance(learned, likelihood=likelihood), likelihood=likelihood)


def scale_shares(learned: Array, *, shares: Array) -> Array:
    """Return the rows times one factor per class, scaled to sum to 1, so that their mean is ``shares``.

    A channel that merges classes says nothing of how their labels divide, but the public prior does.

    Examples
    --------
    >>> scale_shares(np.array([[0.6, 0.4], [0.4, 0.6]]), shares=np.array([0.8, 0.2])).mean(axis=0).round(3)
    array([0.8, 0.2])
    """
    scaled, goal = np.maximum(learned, _FLOOR), np.maximum(shares, _FLOOR)
    for _ in range(_ROUNDS):
        factor = goal / scaled.mean(axis=0)
        scaled = scaled * factor
        scaled /= scaled.sum(axis=1, keepdims=True)
        if np.abs(factor - 1).max() < _SETTLED:
            break
    return np.asarray(scaled)


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
    judged = np.random.default_rng(0).permutation(len(common))[: max(_LEAST_ROWS, _CELLS // common.shape[1])]
    seen, without = likelihood[judged], (common[judged] * likelihood[judged]).sum(axis=1)

    best, most = common, _log_sum(without) + _CHANCE
    for base in (shares, np.zeros_like(shares)):
        start, steps = base[judged], logs[judged] - base[judged]

        def gains(log_power: float, start: Array = start, steps: Array = steps) -> list[float]:
            """The log-likelihood at each weight."""
            alone = (softmax(start + np.exp(log_power) * steps, axis=1) * seen).sum(axis=1)
            return [_log_sum((1 - weight) * without + weight * alone) for weight in _WEIGHTS]

        near = max(_LOG_POWERS, key=lambda log_power: max(gains(log_power)))
        found = minimize_scalar(lambda log_power: -max(gains(log_power)), bounds=(near - 1, near + 1), method="bounded")
        if -found.fun > most:
            weight, most = _WEIGHTS[int(np.argmax(gains(found.x)))], -float(found.fun)
            best = (1 - weight) * common + weight * softmax(base + np.exp(found.x) * (logs - base), axis=1)
    return np.asarray(best)


def _log_sum(chances: Array) -> float:
    return float(np.log(np.maximum(chances, _FLOOR)).sum())
