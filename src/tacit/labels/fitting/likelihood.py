"""Multinomial logistic regression by the likelihood of released labels, with a penalty that they choose themselves."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from tacit.labels.fitting.shares import unfold
from tacit.privacy.errors import InvalidInput

__all__ = ["LikelihoodRegression", "NoSignalWarning"]

Array = NDArray[np.float64]

_TINY = 1e-300
_DECADES = (3.0, 2.0, 1.0, 0.0, -1.0, -2.0)  # of the penalty, from strong to weak
_WORSE = 10.0  # log-likelihood below the best at which a search among weaker penalties ends
_CHANCE = 2.0  # log-likelihood that features without information may gain on held-out rows
_STEPS = 50
_CELLS = 10_000_000  # terms of logits on which the penalty is chosen: more rows change it little
_LEVEL = 0.3  # penalty of the intercepts: many classes under much noise have no shares that are worth their variance


class NoSignalWarning(UserWarning):
    """The features say nothing about the labels, as far as the released labels can tell."""


class LikelihoodRegression(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Linear logits of P(class | x), fitted by maximum likelihood of what was released about each label.

    Minimizes -sum_i w_i log sum_c P(released_i | c) P(c | x_i) + penalty/2 |B|^2 by L-BFGS, where B are the
    coefficients of standardized features. With clean labels this is logistic regression. The penalty is the one under
    which held-out released labels are likeliest, which costs no privacy.

    Parameters
    ----------
    penalty
        Of the squared coefficients of standardized features; None: chosen by cross-validation on the released labels.
    folds
        Of that cross-validation.
    class_weight
        As in scikit-learn, for labels that are known; ``"balanced"`` balances the estimated shares of released ones.
    max_iter
        Steps of L-BFGS.
    random_state
        Divides the rows into folds.

    Attributes
    ----------
    coef_, intercept_
        Of the features as they were given; one row for each class.
    penalty_, n_iter_
        The penalty that was used, and the steps of the last fit.
    classes_, n_features_in_
        As in scikit-learn.

    References
    ----------
    Patrini et al. (2017), Theorem 2.

    Examples
    --------
    >>> from tacit.labels.mechanisms import RandomizedResponse
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 2))
    >>> y = (X[:, 0] + rng.logistic(size=4000) > 3).astype(int)
    >>> coin = RandomizedResponse(epsilon=1.0, classes=2)
    >>> released = coin.randomize(y, rng=rng)
    >>> model = LikelihoodRegression(random_state=0).fit_likelihoods(X, coin.transition().T[released])
    >>> first, second = model.coef_[1] - model.coef_[0]
    >>> bool(first > 0.5), bool(abs(second) < 0.25)
    (True, True)
    """

    def __init__(
        self,
        *,
        penalty: float | None = None,
        folds: int = 5,
        class_weight: Any = None,  # noqa: ANN401
        max_iter: int = 200,
        random_state: Any = None,  # noqa: ANN401
    ) -> None:
        self.penalty = penalty
        self.folds = folds
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> LikelihoodRegression:
        """Train on labels."""
        rows, labels = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(labels)
        classes, codes = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            raise InvalidInput(f"must have at least two classes, got one class: {classes[0]!r}", field="y")
        return self._fit(rows, np.eye(len(classes))[codes], classes, sample_weight)

    def fit_likelihoods(
        self, X: ArrayLike, likelihoods: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> LikelihoodRegression:
        """Train on the likelihood of what was released: P(released | true label c) in column c."""
        rows = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        likelihood = np.asarray(likelihoods, dtype=np.float64)
        if likelihood.ndim != 2 or len(likelihood) != rows.shape[0]:
            raise InvalidInput(
                f"must have one row for each of the {rows.shape[0]} rows of X, got {likelihood.shape}",
                field="likelihoods",
            )
        return self._fit(rows, likelihood, np.arange(likelihood.shape[1]), sample_weight)

    def _fit(self, X: Any, likelihood: Array, classes: NDArray[Any], sample_weight: Any) -> LikelihoodRegression:  # noqa: ANN401
        self.classes_ = classes
        weights = self._weights(likelihood, _check_sample_weight(sample_weight, X, dtype=np.float64))
        design = _Design.of(X, weights)
        evidence = _ReleasedRows(design, likelihood / likelihood.max(axis=1, keepdims=True), weights)
        self.penalty_ = self._choose(evidence) if self.penalty is None else self.penalty
        found, self.n_iter_ = evidence.fit(self.penalty_, start=evidence.start(), steps=self.max_iter)
        self.coef_, self.intercept_ = design.unscaled(found)
        return self

    def _weights(self, likelihood: Array, weights: Array) -> Array:
        """The weights of the rows, times those of the classes as far as their labels are known."""
        if self.class_weight is None:
            return weights
        shares = _rates(likelihood, weights)
        if self.class_weight == "balanced":
            of_class = 1 / (len(shares) * np.maximum(shares, _TINY))
        else:
            of_class = compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_)
        posterior = likelihood * shares
        return np.asarray(weights * (posterior @ of_class) / posterior.sum(axis=1))

    def _choose(self, evidence: _ReleasedRows) -> float:
        """The penalty under which held-out labels are likeliest: in decades first, then the halves beside the best."""
        parts = self._parts(evidence)
        if not parts:
            return 1.0
        paths = [_PenaltyPath(evidence.take(kept), judge=evidence.take(held)) for kept, held in parts]
        gains: dict[float, float] = {}
        for power in _DECADES:
            gains[power] = sum(path.gain(power) for path in paths)
            if gains[power] < max(gains.values()) - _WORSE:
                break
        best = max(gains, key=gains.__getitem__)
        for power in (best + 0.5, best - 0.5):
            gains[power] = sum(path.gain(power) for path in paths)
        best = max(gains, key=gains.__getitem__)
        if gains[best] < _CHANCE:
            warnings.warn(
                "the released labels do not show that the features say anything about the label; more rows or a larger "
                "epsilon may help",
                NoSignalWarning,
                stacklevel=4,
            )
        return float(10.0**best)

    def _parts(self, evidence: _ReleasedRows) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Rows to fit and rows to judge by, as many times as the size of the data allows."""
        cells = evidence.design.columns * evidence.likelihood.shape[1]
        rows = check_random_state(self.random_state).permutation(evidence.rows)[: max(1000, _CELLS // cells)]
        if len(rows) < 2 * self.folds:
            return []
        folds = np.array_split(rows, self.folds)
        used = min(self.folds, max(1, round(_CELLS / (4 * cells * len(rows)))))
        return [(np.concatenate(folds[:n] + folds[n + 1 :]), folds[n]) for n in range(used)]

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return P(class | x), one column for each class."""
        check_is_fitted(self)
        rows = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return np.asarray(softmax(safe_sparse_dot(rows, self.coef_.T) + self.intercept_, axis=1))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the likeliest class of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class _PenaltyPath:
    """Fits of one part of the rows, each from the last, judged by another part."""

    def __init__(self, kept: _ReleasedRows, *, judge: _ReleasedRows) -> None:
        self._kept, self._judge = kept, judge
        self._last = kept.start()
        self._rates = judge.loss(self._last)

    def gain(self, power: float) -> float:
        """The log-likelihood of the held-out labels above that of the classes' rates alone."""
        self._last, _ = self._kept.fit(10.0**power, start=self._last, steps=_STEPS)
        return self._rates - self._judge.loss(self._last)


@dataclass(frozen=True, slots=True)
class _Design:
    """Features with the shift and scale that standardize them; sparse ones are scaled alone."""

    X: Any
    shift: Array
    scale: Array

    @classmethod
    def of(cls, X: Any, weights: Array) -> _Design:  # noqa: ANN401
        """Measure mean and deviation of the weighted rows."""
        if sp.issparse(X):
            mean, variance = mean_variance_axis(X, axis=0, weights=weights)
            shift, scale = np.zeros_like(mean), np.sqrt(variance + mean**2)
        else:
            shift = np.average(X, axis=0, weights=weights)
            scale = np.sqrt(np.average((X - shift) ** 2, axis=0, weights=weights))
        return cls(X, shift, np.where(scale > 0, scale, 1.0))

    @property
    def columns(self) -> int:
        return int(self.X.shape[1])

    def logits(self, parameters: Array) -> Array:
        """The logits of parameters whose last row are the intercepts."""
        slopes = parameters[:-1] / self.scale[:, None]
        return np.asarray(safe_sparse_dot(self.X, slopes) + (parameters[-1] - self.shift @ slopes))

    def gradient(self, residuals: Array) -> Array:
        """The sum over rows of the standardized features times the residuals, and the residuals' sum."""
        total = residuals.sum(axis=0)
        slopes = (safe_sparse_dot(self.X.T, residuals) - np.outer(self.shift, total)) / self.scale[:, None]
        return np.vstack([slopes, total])

    def unscaled(self, parameters: Array) -> tuple[Array, Array]:
        """Coefficients and intercepts of the features as they were given."""
        slopes = parameters[:-1] / self.scale[:, None]
        return np.asarray(slopes.T), np.asarray(parameters[-1] - self.shift @ slopes)


@dataclass(frozen=True, slots=True)
class _ReleasedRows:
    """The rows, the likelihood of what was released about each, and their weights."""

    design: _Design
    likelihood: Array
    weights: Array

    @property
    def rows(self) -> int:
        return len(self.weights)

    def take(self, rows: NDArray[np.int64]) -> _ReleasedRows:
        design = _Design(self.design.X[rows], self.design.shift, self.design.scale)
        return _ReleasedRows(design, self.likelihood[rows], self.weights[rows])

    def start(self) -> Array:
        """No slopes, and as intercepts the rates that make the release likeliest."""
        parameters = np.zeros((self.design.columns + 1, self.likelihood.shape[1]))
        parameters[-1] = np.log(np.maximum(_rates(self.likelihood, self.weights), 1e-6))
        return parameters

    def loss(self, parameters: Array) -> float:
        """-log of the likelihood."""
        return self._loss_and_residuals(parameters)[0]

    def fit(self, penalty: float, *, start: Array, steps: int) -> tuple[Array, int]:
        """The parameters of the largest penalized likelihood, and the steps that it took."""

        def objective(flat: Array) -> tuple[float, Array]:
            parameters = flat.reshape(start.shape)
            loss, residuals = self._loss_and_residuals(parameters)
            gradient = self.design.gradient(residuals)
            gradient[:-1] += penalty * parameters[:-1]
            levels = parameters[-1] - parameters[-1].mean()
            gradient[-1] += _LEVEL * levels
            penalized = penalty / 2 * float((parameters[:-1] ** 2).sum()) + _LEVEL / 2 * float(levels @ levels)
            return loss + penalized, gradient.ravel()

        how: Any = {"maxiter": steps, "ftol": 1e-8}
        found = minimize(objective, start.ravel(), jac=True, method="L-BFGS-B", options=how)
        return np.asarray(found.x).reshape(start.shape), int(found.nit)

    def _loss_and_residuals(self, parameters: Array) -> tuple[float, Array]:
        p = self.design.logits(parameters)
        p -= p.max(axis=1, keepdims=True)
        np.exp(p, out=p)
        p /= p.sum(axis=1, keepdims=True)
        joint = p * self.likelihood
        evidence = np.maximum(joint.sum(axis=1), _TINY)
        joint /= evidence[:, None]
        p -= joint
        p *= self.weights[:, None]
        return -float(self.weights @ np.log(evidence)), p


def _rates(likelihood: Array, weights: Array) -> Array:
    """The class shares that make the release likeliest."""
    distinct, place = np.unique(likelihood, axis=0, return_inverse=True)
    counts = np.bincount(place.ravel(), weights=weights)
    even = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
    return np.asarray(unfold(counts[None] / counts.sum(), transition=distinct.T, start=even, steps=1000)[0])
