"""Scikit-learn classifiers by name, and the layers that some of them are."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from tacit.models.layers import LinearLayers
from tacit.models.trained import EstimatorName, TrainedModel

__all__ = ["fit_estimator"]

_NEVER = -1e4  # the logit of a class that did not occur


def fit_estimator(
    name: EstimatorName, X: NDArray[np.float64], codes: NDArray[np.int64], *, classes: int, rng: np.random.Generator
) -> TrainedModel:
    """Fit a classifier on class codes, as linear layers where it is made of them."""
    # randomized labels of few rows may all be equal, which linear models refuse
    estimator = _make(name if len(np.unique(codes)) > 1 else "constant", seed=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a model that stopped early is a model too
        estimator.fit(X, codes)
    if name in ("trees", "forest"):
        return TrainedModel(estimator=estimator)
    layers = _layers(estimator, features=X.shape[1])
    if classes != len(estimator.classes_):
        layers[-1] = _spread(*layers[-1], estimator.classes_, classes)
    return TrainedModel(state=LinearLayers(tuple(layers)).state)


def _make(name: str, *, seed: int) -> Any:  # noqa: ANN401
    if name == "logistic":
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(max_iter=1000)
    if name == "mlp":
        from sklearn.neural_network import MLPClassifier

        return MLPClassifier(max_iter=500, random_state=seed)
    if name == "constant":
        from sklearn.dummy import DummyClassifier

        return DummyClassifier()
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

    kind = HistGradientBoostingClassifier if name == "trees" else RandomForestClassifier
    return kind(random_state=seed)


Layer = tuple[NDArray[np.float64], NDArray[np.float64]]


def _layers(estimator: Any, *, features: int) -> list[Layer]:  # noqa: ANN401
    """Return weights and biases; one output for two classes, the logit of the second."""
    if hasattr(estimator, "coefs_"):
        return [(weight.T, bias) for weight, bias in zip(estimator.coefs_, estimator.intercepts_, strict=True)]
    if hasattr(estimator, "coef_"):
        return [(estimator.coef_, estimator.intercept_)]
    return [(np.zeros((1, features)), np.zeros(1))]


def _spread(weight: NDArray[np.float64], bias: NDArray[np.float64], codes: NDArray[np.int64], classes: int) -> Layer:
    """Return one output per class, also for classes that did not occur."""
    if len(weight) == 1 and len(codes) == 2:  # one logit, of the second
        weight, bias = np.vstack([np.zeros_like(weight), weight]), np.append(0.0, bias)
    outputs, offsets = np.zeros((classes, weight.shape[1])), np.full(classes, _NEVER)
    outputs[codes], offsets[codes] = weight, bias
    return outputs, offsets
