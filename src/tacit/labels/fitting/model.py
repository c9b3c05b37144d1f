"""Any scikit-learn classifier on class codes 0..K-1, with hard or soft targets, even where a class is absent."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import KFold
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from tacit.privacy.errors import InvalidInput

__all__ = ["FittedModel", "cross_fit", "fit_hard", "fit_soft", "fresh_copy", "named_estimator", "unbalanced"]

_FAINT = 0.01  # a soft target below this is dropped: it would cost a row and move nothing

Weights = NDArray[np.float64] | None


@dataclass(frozen=True, slots=True)
class FittedModel:
    """A fitted classifier with one column of probabilities for each of K classes."""

    estimator: Any
    classes: int

    def probabilities(self, X: Any) -> NDArray[np.float64]:  # noqa: ANN401
        """Return P(class | x); 1 for the predicted class if the estimator has no probabilities."""
        result = np.zeros((len(X) if hasattr(X, "__len__") else X.shape[0], self.classes))
        if hasattr(self.estimator, "predict_proba"):
            result[:, self.estimator.classes_] = self.estimator.predict_proba(X)
        else:
            result[np.arange(len(result)), self.estimator.predict(X)] = 1.0
        return result


def fit_hard(
    estimator: Any,  # noqa: ANN401
    X: Any,  # noqa: ANN401
    codes: NDArray[np.int64],
    *,
    classes: int,
    sample_weight: Weights = None,
    start: FittedModel | None = None,
    rng: np.random.Generator | None,
) -> FittedModel:
    """Fit a fresh copy of ``estimator`` to class codes, or continue from ``start`` if it saw the same classes."""
    if len(np.unique(codes)) == 1:  # randomization can leave one class of a small set
        constant = DummyClassifier(strategy="constant", constant=int(codes[0]))
        return FittedModel(constant.fit(X, codes), classes)
    learner = fresh_copy(estimator, rng)
    if start is not None and np.array_equal(start.estimator.classes_, np.unique(codes)):
        learner = copy.deepcopy(start.estimator).set_params(warm_start=True)
    extra = {} if sample_weight is None else {"sample_weight": sample_weight}
    return FittedModel(learner.fit(X, codes, **extra), classes)


def fit_soft(
    estimator: Any,  # noqa: ANN401
    X: Any,  # noqa: ANN401
    targets: NDArray[np.float64],
    *,
    sample_weight: Weights = None,
    rng: np.random.Generator | None,
) -> FittedModel:
    """Fit a fresh copy of ``estimator`` to a distribution over classes, or signed weights of them, for each row.

    An estimator with a method ``fit_targets`` (:class:`TorchClassifier`) takes the distributions unchanged. For
    others a row is repeated for each of its likely classes, weighted; an estimator without sample weights gets the
    likeliest class instead.
    """
    K = targets.shape[1]
    if hasattr(estimator, "fit_targets"):
        return FittedModel(fresh_copy(estimator, rng).fit_targets(X, targets, sample_weight=sample_weight), K)
    if not has_fit_parameter(estimator, "sample_weight"):
        return fit_hard(estimator, X, targets.argmax(axis=1), classes=K, rng=rng)
    signed = bool((targets < 0).any())
    kept = targets if signed else np.where(targets >= min(_FAINT, 1 / (2 * K)), targets, 0.0)
    rows, codes = np.nonzero(kept)
    weights = (kept / kept.sum(axis=1, keepdims=True))[rows, codes]
    if sample_weight is not None:
        weights = weights * sample_weight[rows]
    if getattr(estimator, "class_weight", None) == "balanced":  # it would count copies, not their weights
        estimator, weights = unbalanced(estimator), weights * _balance(weights, codes, K)[codes]
    copies = _safe_indexing(X, rows)
    if signed:
        return _fit_signed(estimator, X, copies, codes, classes=K, sample_weight=weights, rng=rng)
    return fit_hard(estimator, copies, codes, classes=K, sample_weight=weights, rng=rng)


def unbalanced(estimator: Any) -> Any:  # noqa: ANN401
    """Return the estimator, in a copy without class weights if it has any: what it then predicts is P(class | x)."""
    if getattr(estimator, "class_weight", None) is None:
        return estimator
    return clone(estimator).set_params(class_weight=None)


def _balance(weights: NDArray[np.float64], codes: NDArray[np.int64], classes: int) -> NDArray[np.float64]:
    """scikit-learn's balanced class weights, of weighted rows; a class that signed weights make empty is left alone."""
    totals = np.bincount(codes, weights=weights, minlength=classes)
    return np.asarray(np.where(totals > 0, weights.sum() / (classes * np.where(totals > 0, totals, 1.0)), 1.0))


def _fit_signed(estimator: Any, X: Any, copies: Any, codes: NDArray[np.int64], **options: Any) -> FittedModel:  # noqa: ANN401
    """Fit with negative weights, and see that probabilities come out."""
    try:
        model = fit_hard(estimator, copies, codes, **options)
        probabilities = model.probabilities(X)
    except ValueError as error:
        reason = str(error).strip().partition("\n")[0]
        raise InvalidInput(
            f"must take negative weights, {estimator!r} does not: {reason}", field="estimator"
        ) from error
    if not np.isfinite(probabilities).all() or probabilities.min() < 0 or probabilities.max() > 1 + 1e-9:
        raise InvalidInput(
            f"must take negative weights, {estimator!r} makes no probabilities from them", field="estimator"
        )
    return model


def cross_fit(
    estimator: Any,  # noqa: ANN401
    X: Any,  # noqa: ANN401
    targets: NDArray[np.float64],
    *,
    folds: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return probabilities of every row from a model that did not see it; in-sample ones for one fold."""
    if folds == 1 or len(targets) < 2 * folds:
        return fit_soft(estimator, X, targets, rng=rng).probabilities(X)
    result = np.empty_like(targets)
    for seen, held_out in KFold(folds, shuffle=True, random_state=int(rng.integers(2**31))).split(targets):
        model = fit_soft(estimator, _safe_indexing(X, seen), targets[seen], rng=rng)
        result[held_out] = model.probabilities(_safe_indexing(X, held_out))
    return result


def named_estimator(name: str) -> Any:  # noqa: ANN401
    """Return the scikit-learn classifier that a plan or a method calls ``logistic`` or ``trees``."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    return {"logistic": LogisticRegression(max_iter=1000), "trees": HistGradientBoostingClassifier()}[name]


def fresh_copy(estimator: Any, rng: np.random.Generator | None) -> Any:  # noqa: ANN401
    """Return an unfitted copy, seeded if the estimator takes a seed and has none."""
    fresh = clone(estimator)
    if rng is not None and "random_state" in fresh.get_params(deep=False) and fresh.random_state is None:
        fresh.set_params(random_state=int(rng.integers(2**31)))
    return fresh
