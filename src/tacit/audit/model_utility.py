"""How well a model from a release predicts rows that were withheld."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tacit.audit.split import RowSplit
from tacit.audit.utility import Utility, share_utility, variance_utility
from tacit.data.amounts import cut_column
from tacit.privacy.plan import Plan

__all__ = ["model_utility"]


def model_utility(model: Any, rows: RowSplit, plan: Plan) -> Utility:  # noqa: ANN401
    """Return the accuracy of a model on withheld rows, or the share of the variance that it explains of numbers."""
    inside, outside = (cut_column(part[plan.label], plan) for part in (rows.protected, rows.withheld))
    predicted = np.asarray(model.predict(rows.withheld.select(list(rows.source.features))))
    plain = _plain_predictions(rows, inside)
    if plain.dtype.kind == "f":
        return variance_utility(
            "variance explained on withheld rows by a model trained on the release",
            predicted.astype(np.float64),
            plain,
            truth=outside.to_numpy(zero_copy_only=False).astype(np.float64),
        )
    truth = _words(outside)
    return share_utility(
        "accuracy on withheld rows of a model trained on the release",
        _words(pa.array(predicted.tolist())) == truth,
        _words(pa.array(plain.tolist())) == truth,
        truth=truth,
    )


def _plain_predictions(rows: RowSplit, labels: pa.Array) -> NDArray[Any]:
    """Return what anyone would predict for the withheld rows with the true labels of the others."""
    X = rows.source.X
    numbers = rows.source.has_numbers and pa.types.is_floating(labels.type)
    model = make_pipeline(StandardScaler(), Ridge() if numbers else LogisticRegression(max_iter=1000))
    y = labels.to_numpy(zero_copy_only=False)
    return np.asarray(model.fit(X[rows.inside], y).predict(X[rows.outside]))


def _words(labels: pa.Array | pa.ChunkedArray) -> NDArray[np.str_]:
    return np.asarray(labels.cast(pa.string()).to_pylist(), dtype=str)
