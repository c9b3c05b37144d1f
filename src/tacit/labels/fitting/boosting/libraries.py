"""Which library's trees an estimator has."""

from __future__ import annotations

import inspect
import sys
from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from tacit.labels.fitting.boosting.trees import BoostingLibrary

__all__ = ["library_of", "takes_losses"]


def library_of(estimator: Any, *, scores: int = 1) -> BoostingLibrary | None:  # noqa: ANN401
    """Return how to boost the estimator's trees with so many scores per row; None for an estimator of another kind."""
    if isinstance(estimator, HistGradientBoostingClassifier | HistGradientBoostingRegressor):
        return _histograms()
    if _is_one(estimator, "xgboost", "XGBClassifier", "XGBRegressor"):
        return _xgboost(estimator)
    if _is_one(estimator, "lightgbm", "LGBMClassifier", "LGBMRegressor"):
        return _lightgbm(estimator)
    if _is_one(estimator, "catboost", "CatBoostClassifier", "CatBoostRegressor"):
        return _catboost(scores)
    return None


def takes_losses() -> bool:
    """Whether this scikit-learn takes a loss of ours, as the tested ones do."""
    try:
        from sklearn._loss.loss import BaseLoss
    except ImportError:
        return False
    accepted = HistGradientBoostingRegressor._parameter_constraints.get("loss", ())
    return BaseLoss in accepted and "X_val" in inspect.signature(HistGradientBoostingRegressor.fit).parameters


def _is_one(estimator: Any, library: str, *names: str) -> bool:  # noqa: ANN401
    loaded = sys.modules.get(library)  # who has an estimator has loaded its library
    return loaded is not None and isinstance(estimator, tuple(getattr(loaded, name) for name in names))


def _histograms() -> BoostingLibrary:
    from tacit.labels.fitting.boosting.expectation import ExpectationTrees
    from tacit.labels.fitting.boosting.histogram_trees import HistogramClasses, HistogramTrees

    return HistogramTrees() if takes_losses() else ExpectationTrees(HistogramClasses())


def _xgboost(estimator: Any) -> BoostingLibrary | None:  # noqa: ANN401
    from xgboost import XGBRFClassifier, XGBRFRegressor

    from tacit.labels.fitting.boosting.xgboost_trees import XGBoostTrees

    boosts = estimator.booster in (None, "gbtree") and not isinstance(estimator, XGBRFClassifier | XGBRFRegressor)
    return XGBoostTrees() if boosts else None


def _lightgbm(estimator: Any) -> BoostingLibrary | None:  # noqa: ANN401
    from tacit.labels.fitting.boosting.lightgbm_trees import LightGBMTrees

    return LightGBMTrees() if estimator.boosting_type in ("gbdt", "goss") else None


def _catboost(scores: int) -> BoostingLibrary:
    from tacit.labels.fitting.boosting.catboost_trees import CatBoostClasses, CatBoostTrees
    from tacit.labels.fitting.boosting.expectation import ExpectationTrees

    return CatBoostTrees() if scores == 1 else ExpectationTrees(CatBoostClasses())
