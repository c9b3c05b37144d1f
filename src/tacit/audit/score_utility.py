"""How well released scores keep the order of honest models."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.stats import kendalltau, t
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tacit.audit.plan import PlannedRelease
from tacit.audit.source import AuditedTable
from tacit.audit.utility import Utility
from tacit.leak import Interval
from tacit.privacy.rounding import MOST_EPSILON

__all__ = ["order_utility"]

_DRAWS = 10
_FOLDS = 3
_DEPTHS = (1, 2, 3, 4, 6, 8)
_STRENGTHS = (1e-4, 1e-3, 1e-2, 1.0)


def order_utility(step: PlannedRelease, rng: np.random.Generator) -> Utility:
    """Return Kendall's tau-b between the shown scores of honest models and the exact ones."""
    models = honest_submissions(step.source)
    plan = _with_room(step.plan, len(models))
    exact = _scores(step, replace(plan, epsilon=None, policy="exact"), models, rng)
    draws = _DRAWS if plan.epsilon is not None else 1
    taus = np.array([_tau(exact, _scores(step, plan, models, rng)) for _ in range(draws)])
    within, method = _mean_interval(taus)
    return Utility(
        measure=f"order kept of {len(models)} honest models (Kendall's tau-b)",
        protected=float(taus.mean()),
        interval=within,
        unprotected=1.0,
        unprotected_interval=Interval(low=1.0, high=1.0, level=0.95),
        blind=0.0,
        blind_interval=Interval(low=0.0, high=0.0, level=0.95),
        cost_interval=Interval(low=1 - within.high, high=1 - within.low, level=0.95),
        method=method,
    )


def _with_room(plan: Any, models: int) -> Any:  # noqa: ANN401
    """Return a plan of scores with a submission for every model, and as much noise in each score as before."""
    if plan.submissions >= models:
        return plan
    epsilon = None if plan.epsilon is None else min(plan.epsilon * models / plan.submissions, MOST_EPSILON)
    return replace(plan, submissions=models, epsilon=epsilon)


def _scores(step: PlannedRelease, plan: Any, models: tuple[pa.Table, ...], rng: np.random.Generator) -> list[float]:  # noqa: ANN401
    from tacit import scores

    table, needed = step.source.table, (plan.label, plan.person)
    if "id" in table.column_names and "id" not in needed:  # which submissions would have to repeat
        table = table.drop_columns("id")
    return [float(score) for score in scores.protect(table, plan, data=models, rng=rng).scores]


def _tau(exact: list[float], shown: list[float]) -> float:
    return float(np.nan_to_num(kendalltau(exact, shown).statistic))


def _mean_interval(taus: NDArray[np.float64]) -> tuple[Interval, str]:
    """Return an interval of the mean over draws of the noise, and its method; without noise there is one draw."""
    mean, draws, spread = float(taus.mean()), len(taus), 0.0
    method = f"Student's t over {draws} draws of the noise" if draws > 1 else "exact: there is no noise"
    if draws > 1 and np.ptp(taus) == 0:  # another draw may still differ, by as much as two orders can
        spread, method = 2 * (1 - 0.025 ** (1 / draws)), f"Clopper-Pearson: {draws} draws of the noise agree"
    elif draws > 1:
        spread = float(t.ppf(0.975, draws - 1) * taus.std(ddof=1) / math.sqrt(draws))
    return Interval(low=max(-1.0, mean - spread), high=min(1.0, mean + spread), level=0.95), method


@lru_cache(maxsize=2)
def honest_submissions(source: AuditedTable) -> tuple[pa.Table, ...]:
    """Return predictions of every row by models of varied quality that have not seen its label."""
    if source.has_numbers:
        return tuple(pa.table({"prediction": made}) for made in _number_predictions(source))
    logistic = [make_pipeline(StandardScaler(), LogisticRegression(C=C, max_iter=300)) for C in _STRENGTHS]
    trees = [DecisionTreeClassifier(max_depth=depth, min_samples_leaf=20, random_state=0) for depth in _DEPTHS]
    models = [*logistic, *trees, RandomForestClassifier(30, min_samples_leaf=5, random_state=0), GaussianNB()]
    few = np.bincount(source.codes).max() < _FOLDS
    folds = (KFold if few else StratifiedKFold)(_FOLDS, shuffle=True, random_state=0)
    tables = [cross_val_predict(one, source.X, source.codes, cv=folds, method="predict_proba") for one in models]
    # Not named by class, because classes such as Paid and PAID would be columns that SQL does not distinguish.
    return tuple(pa.table({f"column {k}": column for k, column in enumerate(table.T)}) for table in tables)


def _number_predictions(source: AuditedTable) -> list[NDArray[np.float64]]:
    y = np.asarray(source.table[source.label].to_numpy(), dtype=np.float64)
    linear = [make_pipeline(StandardScaler(), Ridge(alpha=1 / C)) for C in _STRENGTHS]
    trees = [DecisionTreeRegressor(max_depth=depth, min_samples_leaf=20, random_state=0) for depth in _DEPTHS]
    models = [*linear, *trees, RandomForestRegressor(30, min_samples_leaf=5, random_state=0)]
    folds = KFold(_FOLDS, shuffle=True, random_state=0)
    return [cross_val_predict(one, source.X, y, cv=folds) for one in models]
