"""How well a model from a release predicts rows that were withheld."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from tacit.audit.source import AuditedTable
from tacit.audit.split import RowSplit
from tacit.audit.utility import Utility, ranking_utility, share_utility, variance_utility
from tacit.data.amounts import cut_column
from tacit.privacy.plan import Plan

__all__ = ["model_utility"]

Chances = NDArray[np.float64]

_STRENGTHS = (0.01, 0.1, 1.0, 10.0)
_FOLDS = 3
_RARE = 0.1  # of the rows: a class below this hardly changes accuracy
_FEW = 20  # rows of a class below which no interval of its ranks means anything
_BEST = "; without protection, the best of models of the true labels, chosen on other rows, and the release's own model"


def model_utility(model: Any, rows: RowSplit, plan: Plan) -> Utility:  # noqa: ANN401
    """Return the accuracy of a model on withheld rows, or the share of the variance that it explains of numbers.

    If the rarest class has less than a tenth of the rows, and at least 20, it is the model's AUC of that class.

    Whoever has the private data can make the release too. So without protection, the model of the release counts where
    it does better than the models of the true labels: protection never appears to help.
    """
    inside, outside = (cut_column(part[plan.label], plan) for part in (rows.protected, rows.withheld))
    predicted = np.asarray(model.predict(rows.withheld.select(list(rows.columns))))
    numbers = rows.source.has_numbers and pa.types.is_floating(inside.type)
    fitted = _best_model(rows.source, rows.inside.tobytes(), tuple(inside.to_pylist()), numbers=numbers)
    plain = np.asarray(fitted.predict(rows.source.X[rows.outside]))
    if numbers:
        truth = outside.to_numpy(zero_copy_only=False).astype(np.float64)
        made = predicted.astype(np.float64)
        best = min((plain, made), key=lambda one: float(((one - truth) ** 2).sum()))
        measure = "variance explained on withheld rows by a model trained on the release"
        return variance_utility(measure, made, best, truth=truth, about=_BEST)
    words = _words(outside)
    names, counts = np.unique(words, return_counts=True)
    if _FEW <= counts.min() < _RARE * len(words):
        rare = str(names[counts.argmin()])
        known = rows.withheld.select(list(rows.columns))
        chances = _chance(_as_label(model.classes_, outside.type), model.predict_proba(known), rare)
        plain = _chance(pa.array(fitted.classes_), fitted.predict_proba(rows.source.X[rows.outside]), rare)
        return _rarest(chances, plain, words == rare, f"{plan.label} = {rare}")
    right, clean = (_words(_as_label(made, outside.type)) == words for made in (predicted, plain))
    best = max((clean, right), key=np.count_nonzero)
    measure = "accuracy on withheld rows of a model trained on the release"
    return share_utility(measure, right, best, truth=words, about=_BEST)


def _rarest(made: Chances, plain: Chances, truth: NDArray[np.bool_], name: str) -> Utility:
    measure = f"AUC of {name} on withheld rows of a model trained on the release"
    ranked = [ranking_utility(measure, made, one, truth=truth, about=_BEST) for one in (plain, made)]
    return max(ranked, key=lambda one: one.unprotected)


def _chance(classes: pa.Array, probabilities: Chances, name: str) -> Chances:
    """The predicted probability of a class; none where a model does not know it."""
    column = np.flatnonzero(_words(classes) == name)
    return np.asarray(probabilities[:, column].sum(axis=1))


@lru_cache(maxsize=4)
def _best_model(source: AuditedTable, inside: bytes, labels: tuple[Any, ...], *, numbers: bool) -> Any:  # noqa: ANN401
    """Return what predicts the true labels of some rows best by cross-validation: linear models, or a forest."""
    linear = [Ridge(1 / C) if numbers else LogisticRegression(C=C, max_iter=1000) for C in _STRENGTHS]
    forest = (RandomForestRegressor if numbers else RandomForestClassifier)(min_samples_leaf=3, random_state=0)
    search = GridSearchCV(
        Pipeline([("scale", StandardScaler()), ("model", forest)]),
        {"model": [*linear, forest]},
        cv=KFold(_FOLDS, shuffle=True, random_state=0),
    )
    return search.fit(source.X[np.frombuffer(inside, dtype=np.int64)], np.asarray(labels))


def _as_label(made: NDArray[Any], kind: pa.DataType) -> pa.Array:
    """Predictions as the labels are: a model of totals predicts truth values as 0 and 1."""
    predicted = pa.array(made.tolist())
    return predicted.cast(kind) if pa.types.is_boolean(kind) and pa.types.is_integer(predicted.type) else predicted


def _words(labels: pa.Array | pa.ChunkedArray) -> NDArray[np.str_]:
    return np.asarray(labels.cast(pa.string()).to_pylist(), dtype=str)
