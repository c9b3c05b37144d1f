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
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, has_fit_parameter

from tacit.labels.fitting.class_weights import last_class_weight, unbalanced
from tacit.privacy.errors import InvalidInput

__all__ = ["FittedModel", "cross_fit", "fit_hard", "fit_soft", "fresh_copy", "named_estimator", "weights_keyword"]

_FAINT = 0.01  # of a class's total target: so much of it, in the rows where it is faintest, costs rows and moves little

Weights = NDArray[np.float64] | None


@dataclass(frozen=True, slots=True)
class FittedModel:
    """A fitted classifier with one column of probabilities for each of K classes."""

    estimator: Any
    classes: int

    def probabilities(self, X: Any) -> NDArray[np.float64]:  # noqa: ANN401
        """Return P(class | x); 1 for the predicted class if the estimator has no probabilities."""
        result = np.zeros((_num_samples(X), self.classes))
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
    keyword = None if sample_weight is None else (weights_keyword(learner) or "sample_weight")
    return FittedModel(learner.fit(X, codes, **({} if keyword is None else {keyword: sample_weight})), classes)


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
    if weights_keyword(estimator) is None:
        return fit_hard(estimator, X, targets.argmax(axis=1), classes=K, rng=rng)
    signed = bool((targets < 0).any())
    kept = targets if signed else _without_faint(targets)
    rows, codes = np.nonzero(kept)
    weights = (kept / kept.sum(axis=1, keepdims=True))[rows, codes]
    if sample_weight is not None:
        weights = weights * sample_weight[rows]
    if last_class_weight(estimator) == "balanced":  # it would count copies, not their weights
        estimator, weights = unbalanced(estimator), weights * _balance(weights, codes, K)[codes]
    copies = _safe_indexing(X, rows)
    if signed:
        return _fit_signed(estimator, X, copies, codes, classes=K, sample_weight=weights, rng=rng)
    return fit_hard(estimator, copies, codes, classes=K, sample_weight=weights, rng=rng)


def weights_keyword(estimator: Any) -> str | None:  # noqa: ANN401
    """Return the keyword by which ``fit`` takes weights of rows: that of the last step in a pipeline; None for none."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        keyword = weights_keyword(last)
        return None if keyword is None else f"{name}__{keyword}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def _without_faint(targets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Set the least targets of each class to 0, as many as make up a hundredth of its total: a rare class stays."""
    ascending = np.sort(targets, axis=0)
    first = (np.cumsum(ascending, axis=0) < _FAINT * targets.sum(axis=0)).sum(axis=0)  # that is kept
    least = np.take_along_axis(ascending, np.minimum(first, len(targets) - 1)[None], axis=0)
    own = np.arange(targets.shape[1]) == targets.argmax(axis=1)[:, None]
    return np.where((targets >= least) | own, targets, 0.0)


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
