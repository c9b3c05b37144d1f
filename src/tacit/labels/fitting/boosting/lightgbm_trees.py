"""LightGBM by the likelihood of released labels."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tacit.labels.fitting.boosting.objective import ReleasedObjective
from tacit.labels.fitting.boosting.trees import FEW_LEAVES, BoostingLibrary, TreeJudge, grown_leaf

__all__ = ["LightGBMTrees"]

Array = NDArray[np.float64]

_OF_CLASSES = ("class_weight", "is_unbalance", "unbalance", "scale_pos_weight", "objective", "num_class", "metric")


@dataclass(frozen=True, slots=True)
class LightGBMTrees(BoostingLibrary):
    """Trees of ``lightgbm``, by its scikit-learn interface."""

    names: ClassVar[tuple[str, str]] = ("n_estimators", "learning_rate")

    def prepared(self, estimator: Any, objective: ReleasedObjective) -> Any:  # noqa: ANN401
        """Return a regressor with such trees, and in each leaf as much information as there is in known labels."""
        from lightgbm import LGBMModel

        settings = {name: value for name, value in clone(estimator).get_params().items() if name not in _OF_CLASSES}
        classes = {} if objective.scores == 1 else {"num_class": objective.scores}
        least = grown_leaf(settings["min_child_samples"] / objective.bound, of=objective.rows)
        return LGBMModel(**(settings | {"min_child_samples": max(int(least), 1)}), **classes)

    def leaves(self, model: Any) -> int:  # noqa: ANN401
        """Return the number by leaves and by depth."""
        return int(min(model.num_leaves, 2**model.max_depth if model.max_depth > 0 else model.num_leaves))

    def few_leaves(self, model: Any) -> dict[str, Any]:  # noqa: ANN401, ARG002
        """Return the number of leaves."""
        return {"num_leaves": FEW_LEAVES}

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
        """Fit, and keep the booster, which holds no labels."""

        def derivatives(_: Array, scores: Array) -> tuple[Array, Array]:
            return objective.derivatives(scores)

        fitted = clone(model).set_params(n_estimators=rounds, objective=derivatives)
        judged = {} if held is None else _judged(fitted, held)
        callbacks = [*judged.pop("callbacks", ()), *options.get("callbacks", ())]
        fitted.fit(X, np.zeros(objective.rows), **(dict(options) | judged | {"callbacks": callbacks}))
        return fitted.booster_

    def scores(self, model: Any, X: Any) -> Array:  # noqa: ANN401
        """Return the raw scores, up to the best round."""
        return np.asarray(model.predict(X, raw_score=True), dtype=np.float64)


def _judged(model: Any, held: TreeJudge) -> dict[str, Any]:  # noqa: ANN401
    from lightgbm import early_stopping

    def released(_: Array, scores: Array) -> tuple[str, float, bool]:
        return "released", held.judge(scores), False

    labels = np.zeros(held.objective.rows)
    names = inspect.signature(type(model).fit).parameters
    rows = {"eval_X": held.X, "eval_y": labels} if "eval_X" in names else {"eval_set": [(held.X, labels)]}
    return {**rows, "eval_metric": released, "callbacks": [early_stopping(held.patience, verbose=False)]}
