"""scikit-learn's histogram boosting by the likelihood of released labels.

A regressor takes any ``BaseLoss``, which is scikit-learn's own and may change: tests pin what is used of it.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn._loss.link import IdentityLink
from sklearn._loss.loss import BaseLoss
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from tacit.labels.fitting.boosting.expectation import WeightedCopies
from tacit.labels.fitting.boosting.objective import ReleasedObjective
from tacit.labels.fitting.boosting.trees import FEW_LEAVES, BoostingLibrary, TreeJudge, grown_leaf

__all__ = ["HistogramClasses", "HistogramTrees"]

Array = NDArray[np.float64]

_SETTINGS = (
    "learning_rate",
    "max_iter",
    "max_leaf_nodes",
    "max_depth",
    "min_samples_leaf",
    "l2_regularization",
    "max_features",
    "max_bins",
    "categorical_features",
    "monotonic_cst",
    "interaction_cst",
    "verbose",
    "random_state",
)
_TINY = 1e-300
_HELD, _SEEN = 1.0, 0.0  # the label that says which rows a loss is asked about


class _HistogramLoss(BaseLoss):  # type: ignore[misc]
    """The likelihood of the release, in the order of the rows."""

    def __init__(self, objective: ReleasedObjective, held: TreeJudge | None) -> None:
        super().__init__(closs=None, link=IdentityLink(), n_classes=objective.scores)
        self.is_multiclass = objective.scores > 1
        self.interval_y_pred = IdentityLink().interval_y_pred
        self._objective: ReleasedObjective | None = objective
        self._held = held

    def __deepcopy__(self, memo: object) -> _HistogramLoss:
        return self  # scikit-learn copies a parameter when it clones an estimator

    def __call__(self, y_true: Array, raw_prediction: Array, **_: Any) -> float:  # noqa: ANN401
        return self._held.judge(raw_prediction) if self._held is not None and y_true[0] == _HELD else 0.0

    def fit_intercept_only(self, y_true: Array, sample_weight: Array | None = None) -> Array:  # noqa: ARG002
        """Start at 0: the objective knows the shares."""
        return np.zeros(self.n_classes)

    def gradient_hessian(
        self,
        y_true: Array,  # noqa: ARG002
        raw_prediction: Array,
        sample_weight: Array | None = None,  # noqa: ARG002
        gradient_out: Array | None = None,
        hessian_out: Array | None = None,
        n_threads: int = 1,  # noqa: ARG002
    ) -> tuple[Array, Array]:
        """Write gradient and Hessian."""
        assert self._objective is not None
        assert gradient_out is not None
        assert hessian_out is not None
        gradient, hessian = self._objective.derivatives(raw_prediction)
        gradient_out[...], hessian_out[...] = gradient.reshape(gradient_out.shape), hessian.reshape(hessian_out.shape)
        return gradient_out, hessian_out

    def forget(self) -> None:
        """Drop the rows."""
        self._objective = self._held = None


class _ScoreTrees(HistGradientBoostingRegressor):  # type: ignore[misc]
    """A regressor with several scores per row."""

    def _encode_y(self, y: Array) -> Array:
        encoded: Array = super()._encode_y(y)
        self.n_trees_per_iteration_ = self.loss.n_classes
        return encoded


@dataclass(frozen=True, slots=True)
class HistogramTrees(BoostingLibrary):
    """Trees of ``HistGradientBoostingClassifier`` and ``HistGradientBoostingRegressor``."""

    names: ClassVar[tuple[str, str]] = ("max_iter", "learning_rate")

    def prepared(self, estimator: Any, objective: ReleasedObjective) -> Any:  # noqa: ANN401
        """Return a regressor with such trees, and in each leaf as much information as there is in known labels."""
        settings = {name: value for name, value in clone(estimator).get_params().items() if name in _SETTINGS}
        least = grown_leaf(settings["min_samples_leaf"] / objective.bound, of=objective.rows)
        return _ScoreTrees(**(settings | {"min_samples_leaf": max(int(least), 1)}))

    def leaves(self, model: Any) -> int:  # noqa: ANN401
        """Return the number by leaves and by depth."""
        return int(min(model.max_leaf_nodes or 2**16, 2**16 if model.max_depth is None else 2**model.max_depth))

    def few_leaves(self, model: Any) -> dict[str, Any]:  # noqa: ANN401, ARG002
        """Return the number of leaves."""
        return {"max_leaf_nodes": FEW_LEAVES}

    def grow(
        self,
        model: Any,  # noqa: ANN401
        X: Any,  # noqa: ANN401
        objective: ReleasedObjective,
        *,
        rounds: int,
        held: TreeJudge | None,
        options: Mapping[str, Any],
    ) -> Any:  # noqa: ANN401
        """Fit, and drop the trees after the best round."""
        loss = _HistogramLoss(objective, held)
        fitted = clone(model).set_params(loss=loss, max_iter=rounds, early_stopping=held is not None)
        judged: dict[str, Any] = {}
        if held is not None:
            fitted.set_params(n_iter_no_change=held.patience, tol=0.0)
            judged = {"X_val": held.X, "y_val": np.full(held.objective.rows, _HELD)}
            held.losses.clear()  # scikit-learn asks for the loss before the first round too
        fitted.fit(X, np.full(objective.rows, _SEEN), **(dict(options) | judged))
        if held is not None:
            del fitted._predictors[held.best :]
        loss.forget()
        return fitted

    def scores(self, model: Any, X: Any) -> Array:  # noqa: ANN401
        """Return the raw predictions."""
        flat = np.asarray(model.predict(X), dtype=np.float64)
        scores = model.loss.n_classes
        return flat if scores == 1 else flat.reshape(-1, scores)


@dataclass(frozen=True, slots=True)
class HistogramClasses:
    """Trees of ``HistGradientBoostingClassifier`` on weighted rows, for a scikit-learn whose losses are other ones."""

    @property
    def trees(self) -> HistogramTrees:
        """How scikit-learn sets rounds, rates and leaves."""
        return HistogramTrees()

    def more(self, model: Any, copies: WeightedCopies, *, rounds: int, last: Any, options: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Fit on by a warm start."""
        settings = {name: value for name, value in model.get_params().items() if name in _SETTINGS}
        fitted = HistGradientBoostingClassifier(**settings) if last is None else copy.deepcopy(last)
        so_far = 0 if last is None else last.n_iter_
        fitted.set_params(max_iter=so_far + rounds, warm_start=True, early_stopping=False)
        return fitted.fit(copies.X, copies.codes, sample_weight=copies.weights, **options)

    def scores(self, fitted: Any, X: Any, objective: ReleasedObjective) -> Array:  # noqa: ANN401
        """Return the logits above the shares."""
        logits = np.log(np.maximum(fitted.predict_proba(X), _TINY)) - objective.start
        return np.asarray(logits if objective.points is None else logits[:, 1] - logits[:, 0])
