"""P(label | features) for a baseline attacker, who knows the population but not the release."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from tacit.data import Encoder, open_table, read_rows
from tacit.leak.prior import out_of_fold, temper_prior
from tacit.privacy.errors import InvalidInput

__all__ = ["prior_from_features"]

_LEAST_ROWS = 5  # one for each fold


def prior_from_features(
    table: object,
    labels: ArrayLike,
    *,
    classes: int,
    leave_out: tuple[str, ...] = (),
    model: Any = None,  # noqa: ANN401
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return calibrated P(label | features) of every row from a model that has seen the labels of other rows only.

    It reads true labels, as a model of an attacker who knows the population, but not these rows' labels. The baseline
    that a release is measured against.

    Parameters
    ----------
    table
        The features.
    labels
        The true labels: 0, ..., ``classes`` - 1.
    classes
        How many classes there are.
    leave_out
        Columns that are no features: the label.
    model
        A classifier with ``predict_proba``. Default: boosted trees.
    rng
        Splits the rows.
    """
    y = np.asarray(labels, dtype=np.int64)
    rows = table if isinstance(table, pa.Table) else read_rows(open_table(table))
    names = [name for name in rows.column_names if name not in leave_out]
    if not names:
        raise InvalidInput("must have a column besides the label, got none", field="data")
    encoder = Encoder.fitted(rows, names)
    X = encoder.encode(rows) if encoder.rules else np.zeros((rows.num_rows, 1))  # ids say nothing of other rows
    if len(X) != len(y):
        raise InvalidInput(f"must be one for each of {len(X)} rows, got {len(y)}", field="labels")
    if len(y) < _LEAST_ROWS:
        raise InvalidInput(
            f"must have at least {_LEAST_ROWS} rows, for models of the others, got {len(y)}", field="data"
        )
    learner = HistGradientBoostingClassifier(max_iter=100) if model is None else model
    prior = out_of_fold(X, y, classes=classes, learner=learner, seed=int(rng.integers(2**31)))
    return temper_prior(prior, y)
