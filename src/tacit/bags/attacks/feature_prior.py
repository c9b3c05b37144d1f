"""P(label | features) for a baseline attacker, who knows the population but not the release."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import KFold

from tacit.data import Encoder, open_table, read_rows
from tacit.privacy.errors import InvalidInput

__all__ = ["prior_from_features"]

_FOLDS = 5


def prior_from_features(
    table: object,
    labels: ArrayLike,
    *,
    classes: int,
    leave_out: tuple[str, ...] = (),
    model: Any = None,  # noqa: ANN401
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return P(label | features) of every row from a model that has seen the labels of other rows only.

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
    if len(y) < _FOLDS:
        raise InvalidInput(f"must have at least {_FOLDS} rows, for models of the others, got {len(y)}", field="data")
    learner = HistGradientBoostingClassifier(max_iter=100) if model is None else model
    prior = np.zeros((len(y), classes))
    splits = KFold(_FOLDS, shuffle=True, random_state=int(rng.integers(2**31)))
    for seen, unseen in splits.split(X):
        if (y[seen] == y[seen][0]).all():  # a rare label in one fold alone
            prior[unseen, y[seen][0]] = 1.0
            continue
        fitted = clone(learner).fit(X[seen], y[seen])
        prior[np.ix_(unseen, fitted.classes_)] = fitted.predict_proba(X[unseen])
    return prior
