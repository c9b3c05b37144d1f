"""CatBoost by the likelihood of released labels: one score per row, since it asks Python about each row of several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from tacit.labels.fitting.boosting.expectation import WeightedCopies
from tacit.labels.fitting.boosting.objective import ReleasedObjective
from tacit.labels.fitting.boosting.trees import BoostingLibrary, TreeJudge

__all__ = ["CatBoostClasses", "CatBoostTrees"]

Array = NDArray[np.float64]

_DEPTH, _ROUNDS = 6, 1000  # CatBoost's own
_STEPS = 30.0  # rounds times rate where the estimator names no rate: CatBoost's own for many rows
_FASTEST = 0.3
_ONE_NAME = {
    "eta": "learning_rate",
    "max_depth": "depth",
    "max_leaves": "num_leaves",
    "min_child_samples": "min_data_in_leaf",
    "n_estimators": "iterations",
    "num_boost_round": "iterations",
    "num_trees": "iterations",
    "random_state": "random_seed",
    "reg_lambda": "l2_leaf_reg",
}
_OF_CLASSES = {"loss_function", "objective", "eval_metric", "custom_metric", "custom_loss", "use_best_model"}
_OF_CLASSES |= {"class_weights", "class_names", "auto_class_weights", "scale_pos_weight", "classes_count"}
_OF_CLASSES |= {"early_stopping_rounds", "od_type", "od_wait", "od_pval"}
_SAYING = {"verbose", "verbose_eval", "silent", "logging_level"}


class _CatBoostLoss:
    """Derivatives of the log-likelihood for the rows whose numbers are the targets."""

    def __init__(self, objective: ReleasedObjective) -> None:
        self.objective: ReleasedObjective | None = objective

    def calc_ders_range(self, approxes: Array, targets: Array, weights: object) -> Array:  # noqa: ARG002
        assert self.objective is not None
        rows = np.asarray(targets).astype(np.int64)
        gradient, hessian = self.objective.take(rows).derivatives(np.asarray(approxes))
        return np.stack([-gradient, -hessian], axis=1)

    def __deepcopy__(self, memo: object) -> _CatBoostLoss:
        return self


class _CatBoostMetric:
    """The loss of the held-out rows."""

    def __init__(self, held: TreeJudge) -> None:
        self.held: TreeJudge | None = held

    def is_max_optimal(self) -> bool:
        return False

    def evaluate(self, approxes: Any, targets: Any, weights: object) -> tuple[float, float]:  # noqa: ANN401, ARG002
        scores = np.asarray(approxes[0], dtype=np.float64)
        if self.held is None or len(scores) != self.held.objective.rows or np.asarray(targets)[-1] >= 0:
            return 0.0, 1.0  # of the rows that are learned from
        return self.held.judge(scores), 1.0

    def get_final_error(self, error: float, weight: float) -> float:
        return error / weight

    def __deepcopy__(self, memo: object) -> _CatBoostMetric:
        return self


@dataclass(frozen=True, slots=True)
class CatBoostTrees(BoostingLibrary):
    """Trees of ``catboost``."""

    names: ClassVar[tuple[str, str]] = ("iterations", "learning_rate")

    def prepared(self, estimator: Any, objective: ReleasedObjective) -> Any:  # noqa: ANN401, ARG002
        """Return a model with the settings of the trees, which are the estimator's under one name each."""
        from catboost import CatBoost

        given = estimator.get_params()
        settings = {_ONE_NAME.get(name, name): value for name, value in given.items() if name not in _OF_CLASSES}
        rounds = settings.setdefault("iterations", _ROUNDS)
        settings.setdefault("learning_rate", min(_FASTEST, _STEPS / rounds))
        settings.setdefault("leaf_estimation_method", "Newton")
        settings.setdefault("leaf_estimation_iterations", 1)
        settings.setdefault("allow_writing_files", False)
        if not _SAYING & set(settings):
            settings["logging_level"] = "Silent"
        return CatBoost(settings)

    def leaves(self, model: Any) -> int:  # noqa: ANN401
        """Return the number by leaves and by depth."""
        settings = model.get_params()
        most = 2 ** int(settings.get("depth", _DEPTH))
        return int(min(settings.get("num_leaves", most), most))

    def few_leaves(self, model: Any) -> dict[str, Any]:  # noqa: ANN401, ARG002
        """Return depth 2."""
        return {"depth": 2}

    def changed(self, model: Any, settings: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Return a new model, which takes no more rounds than CatBoost's own twice."""
        kept = {name: value for name, value in model.get_params().items() if name != "num_leaves"}
        most = round(2 * _STEPS / settings["learning_rate"])
        return type(model)(kept | dict(settings) | {"iterations": min(settings["iterations"], most)})

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
        """Fit; with rows held out, CatBoost itself keeps the best rounds."""
        loss, metric = _CatBoostLoss(objective), None if held is None else _CatBoostMetric(held)
        settings = {**model.get_params(), "iterations": rounds, "loss_function": loss}
        judged: dict[str, Any] = {}
        if held is None:
            settings |= {"eval_metric": "RMSE", "metric_period": rounds}
        else:
            settings |= {"eval_metric": metric, "od_type": "Iter", "od_wait": held.patience, "use_best_model": True}
            judged = {"eval_set": (held.X, -1.0 - np.arange(held.objective.rows))}
        fitted = type(model)(settings)
        fitted.fit(X, np.arange(objective.rows, dtype=np.float64), **(dict(options) | judged))
        loss.objective = None
        if metric is not None:
            metric.held = None
        return fitted

    def scores(self, model: Any, X: Any) -> Array:  # noqa: ANN401
        """Return the raw values."""
        return np.asarray(model.predict(X, prediction_type="RawFormulaVal"), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class CatBoostClasses:
    """Trees of ``catboost`` with a score for each class, on weighted rows."""

    @property
    def trees(self) -> CatBoostTrees:
        """How CatBoost sets rounds, rates and leaves."""
        return CatBoostTrees()

    def more(self, model: Any, copies: WeightedCopies, *, rounds: int, last: Any, options: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Fit trees that start from the logits so far, and add them to the others."""
        from catboost import Pool, sum_models

        settings = {**model.get_params(), "iterations": rounds, "loss_function": "MultiClass"}
        fit, cat = dict(options), options.get("cat_features", model.get_params().get("cat_features"))
        fit.pop("cat_features", None)
        kept = copies.weights > 0
        rows = np.flatnonzero(kept)
        pool = Pool(
            _safe_indexing(copies.X, rows),
            label=copies.codes[rows],
            weight=copies.weights[rows],
            baseline=copies.start[rows],
            cat_features=cat,
        )
        fitted = type(model)(settings).fit(pool, **fit)
        return fitted if last is None else sum_models([last, fitted])

    def scores(self, fitted: Any, X: Any, objective: ReleasedObjective) -> Array:  # noqa: ANN401, ARG002
        """Return the raw values."""
        return np.asarray(fitted.predict(X, prediction_type="RawFormulaVal"), dtype=np.float64)
