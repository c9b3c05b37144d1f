"""XGBoost by the likelihood of released labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tacit.labels.fitting.boosting.objective import ReleasedObjective
from tacit.labels.fitting.boosting.trees import LEAST_RATE, BoostingLibrary, TreeJudge, grown_leaf

__all__ = ["XGBoostTrees"]

Array = NDArray[np.float64]

_DEPTH, _ROUNDS, _RATE, _LEAF = 6, 100, 0.3, 1.0  # XGBoost's own, where the estimator says None
_KNOWN = 0.9  # information from which labels are as good as known; below it 0.3 is too fast


@dataclass(frozen=True, slots=True)
class XGBoostTrees(BoostingLibrary):
    """Trees of ``xgboost``, by its scikit-learn interface."""

    names: ClassVar[tuple[str, str]] = ("n_estimators", "learning_rate")

    def prepared(self, estimator: Any, objective: ReleasedObjective) -> Any:  # noqa: ANN401
        """Return a regressor with the settings of the trees."""
        from xgboost import XGBRegressor

        settings = clone(estimator).get_params()
        settings |= {"base_score": 0.0, "eval_metric": None, "early_stopping_rounds": None, "scale_pos_weight": None}
        settings["n_estimators"] = _given(settings["n_estimators"], _ROUNDS)
        settings["learning_rate"] = _given(settings["learning_rate"], _RATE)
        settings["num_class"] = None if objective.scores == 1 else objective.scores
        if objective.bound < _KNOWN:
            rate, rounds = settings["learning_rate"], settings["n_estimators"]
            slower = max(min(rate, LEAST_RATE), rate / 2)
            settings |= {"learning_rate": slower, "n_estimators": round(rounds * rate / slower)}
        least = grown_leaf(_given(settings["min_child_weight"], _LEAF), of=objective.least_information)
        return XGBRegressor(**(settings | {"min_child_weight": least, "disable_default_eval_metric": True}))

    def leaves(self, model: Any) -> int:  # noqa: ANN401
        """Return the number by leaves or by depth."""
        return int(model.max_leaves or 2 ** (_given(model.max_depth, _DEPTH) or _DEPTH))

    def few_leaves(self, model: Any) -> dict[str, Any]:  # noqa: ANN401, ARG002
        """Return depth 2; a Hessian that has the noise in it makes leaves larger by itself."""
        return {"max_depth": 2, "max_leaves": None, "grow_policy": None}

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
        """Fit; predictions then stop at the best round by themselves."""

        def derivatives(_: Array, scores: Array) -> tuple[Array, Array]:
            return objective.derivatives(scores)

        fitted = clone(model).set_params(n_estimators=rounds, objective=derivatives)
        judged: dict[str, Any] = {"verbose": False}
        if held is not None:
            judging = held

            def released(_: Array, scores: Array) -> float:
                return judging.judge(scores)

            fitted.set_params(eval_metric=released, early_stopping_rounds=held.patience)
            judged["eval_set"] = [(held.X, np.zeros(held.objective.rows))]
        fitted.fit(X, np.zeros(objective.rows), **(judged | dict(options)))
        return fitted.set_params(objective="reg:squarederror", eval_metric=None)

    def scores(self, model: Any, X: Any) -> Array:  # noqa: ANN401
        """Return the margins."""
        return np.asarray(model.predict(X, output_margin=True), dtype=np.float64)


def _given(setting: Any, default: Any) -> Any:  # noqa: ANN401
    return default if setting is None else setting
