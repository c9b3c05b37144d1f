"""P(true label | x) of every row from the released labels of other rows, by cross-fitted expectation maximization."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from tacit.labels.fitting.model import FittedModel, Weights, fit_soft
from tacit.labels.fitting.temperature import find_temperature, scale_temperature

__all__ = ["balance", "calibrate", "expect_outside", "posterior_targets"]

Array = NDArray[np.float64]
Folds = frozenset[int]

_FLOOR = 1e-12  # a model's 0 is no proof
_LEAST = 0.05  # temperature of a model that is not confident enough
_ROUNDS = 100


def posterior_targets(prior: Array, likelihood: Array) -> Array:
    """Return prior times likelihood, each row scaled to sum to 1."""
    joint = np.maximum(prior, _FLOOR) * likelihood
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def calibrate(prior: Array, *, likelihood: Array) -> Array:
    """Return the priors at the temperature, one for all rows, that makes the release likeliest.

    A regularized model, or one trained on soft targets, is not confident enough; a naive one is overconfident. One
    number from all rows reveals nothing about any of them.
    """
    return scale_temperature(prior, temperature=find_temperature(prior, likelihood, least=_LEAST))


def balance(prior: Array, *, likelihood: Array) -> Array:
    """Return the priors times one factor per class, scaled to sum to 1, that makes the release likeliest.

    Soft targets shrink all classes to equal shares, which one power does not undo: a class must be as frequent before
    a row's own release as after it. The factors come from all rows, and reveal nothing about any of them.

    Examples
    --------
    >>> likelihood = np.array([[0.9, 0.1]] * 17 + [[0.1, 0.9]] * 3)
    >>> balance(np.full((20, 2), 0.5), likelihood=likelihood)[0].round(2)
    array([0.94, 0.06])
    """
    shares = np.maximum(prior, _FLOOR)
    for _ in range(_ROUNDS):
        shares = shares * (posterior_targets(shares, likelihood).mean(axis=0) / shares.mean(axis=0))
        shares /= shares.sum(axis=1, keepdims=True)
    return shares


def expect_outside(
    estimator: Any,  # noqa: ANN401
    X: Any,  # noqa: ANN401
    *,
    likelihood: Array,
    start: Array,
    rounds: int,
    folds: int,
    sample_weight: Weights = None,
    rng: np.random.Generator,
) -> Array:
    """Return P(true label | x) of every row from models that its own released label never reached, not even indirectly.

    Plain cross-fitting over several rounds has an echo: row i teaches the model that makes row j's target, which
    teaches the model that predicts row i. Here the model for fold A in the last round is trained outside A on targets
    that come from models trained outside A and one more fold, and so on: round r leaves ``rounds - r + 1`` folds out.
    Each round's probabilities are calibrated, since soft targets give flat models.
    """
    fold = rng.permutation(np.arange(len(likelihood)) % folds)
    models: dict[Folds, FittedModel] = {}

    def fit(left: Folds) -> FittedModel:
        """The model trained outside these folds."""
        rows = np.flatnonzero(~np.isin(fold, list(left)))
        targets = start[rows] if len(left) == rounds else posterior_targets(predict(left), likelihood)[rows]
        weights = None if sample_weight is None else sample_weight[rows]
        return fit_soft(estimator, _safe_indexing(X, rows), targets, sample_weight=weights, rng=rng)

    def predict(left: Folds) -> Array:
        """Probabilities of the rows outside these folds, each fold's from a model that has not seen it either."""
        prior = np.ones_like(likelihood)
        for number in sorted(set(range(folds)) - left):
            wider, rows = left | {number}, np.flatnonzero(fold == number)
            if wider not in models:
                models[wider] = fit(wider)
            prior[rows] = models[wider].probabilities(_safe_indexing(X, rows))
        return _calibrated(prior, ~np.isin(fold, list(left)), likelihood)

    return predict(frozenset())


def _calibrated(prior: Array, rows: NDArray[np.bool_], likelihood: Array) -> Array:
    result = prior.copy()
    result[rows] = calibrate(prior[rows], likelihood=likelihood[rows])
    return result
