"""The features as the estimator gets them: frames, sparse matrices, gaps and strings are handed on as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_array, check_consistent_length, get_tags
from sklearn.utils.validation import _check_y, _num_samples, validate_data

from tacit.privacy.ledger.fingerprint import list_column

__all__ = ["check_features", "check_represented", "fingerprint_columns", "takes_gaps", "takes_sparse", "trial_rows"]

_TRIAL_ROWS = 200
_GAPS = 20  # rows with a missing value among those of a trial


def check_features(learner: Any, X: Any, *labels: Any, estimator: Any, reset: bool = True, **options: Any) -> Any:  # noqa: ANN401
    """Check the features, and labels if there are any, and return them; only lists and arrays of numbers are converted.

    ``estimator`` is what the learner trains: whatever of a frame or a string it cannot use, it rejects itself.
    """
    options = {"reset": reset, "ensure_all_finite": not takes_gaps(estimator)} | options
    if not _is_handed_on(X):
        return validate_data(learner, X, *labels, **options)
    rows: Any = np.asarray(X, dtype=object) if isinstance(X, list) else X
    if sp.issparse(X):
        rows = rows.asformat("csr")  # which can be cut by rows
    validate_data(learner, rows, *labels, skip_check_array=True, reset=reset)
    if not labels:
        return rows
    check_consistent_length(rows, labels[0])
    return rows, _check_y(labels[0], y_numeric=bool(options.get("y_numeric")), estimator=learner)


def check_represented(X: Any) -> Any:  # noqa: ANN401
    """Check what a representation made of the features."""
    if _is_handed_on(X):
        return X
    return check_array(X, allow_nd=True, input_name="representation")


def takes_gaps(estimator: Any) -> bool:  # noqa: ANN401
    """Whether the estimator takes missing values; a pipeline may fill them in its first step."""
    first = estimator.steps[0][1] if isinstance(estimator, Pipeline) else estimator
    return bool(getattr(_input_tags(first), "allow_nan", True))


def takes_sparse(estimator: Any) -> bool:  # noqa: ANN401
    """Whether the estimator takes sparse matrices."""
    return bool(getattr(_input_tags(estimator), "sparse", True))


def _input_tags(estimator: Any) -> Any:  # noqa: ANN401
    """What an estimator says that it takes; None where it says nothing."""
    try:
        return get_tags(estimator).input_tags
    except (AttributeError, TypeError, ValueError):
        return None


def _is_handed_on(X: Any) -> bool:  # noqa: ANN401
    if sp.issparse(X) or hasattr(X, "iloc") or hasattr(X, "__dataframe__"):
        return True
    values = np.asarray(X, dtype=object) if isinstance(X, list) else X
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    return kind in ("U", "S") or (kind == "O" and any(isinstance(value, str) for value in np.ravel(values)))


def trial_rows(X: Any) -> NDArray[np.int64]:  # noqa: ANN401
    """Return the rows on which an estimator is tried out: some of all, and some of those with a missing value."""
    rows = _num_samples(X)
    spread = np.linspace(0, rows - 1, min(rows, _TRIAL_ROWS)).astype(np.int64)
    return np.union1d(spread, _with_gap(X)[:_GAPS])


def _with_gap(X: Any) -> NDArray[np.int64]:  # noqa: ANN401
    if hasattr(X, "iloc"):
        return np.flatnonzero(np.asarray(X.isna()).reshape(len(X), -1).any(axis=1))
    if isinstance(X, np.ndarray) and X.dtype.kind == "f":
        return np.flatnonzero(~np.isfinite(X.reshape(len(X), -1)).all(axis=1))
    return np.zeros(0, dtype=np.int64)


def fingerprint_columns(X: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the columns by which a ledger recognizes the features."""
    if hasattr(X, "indptr"):
        rows = X.copy()
        rows.sum_duplicates()
        parts, ends = {"X.columns": rows.indices, "X.values": rows.data}, pa.array(rows.indptr.astype(np.int64))
        return {name: pa.LargeListArray.from_arrays(ends, pa.array(part)) for name, part in parts.items()}
    if hasattr(X, "columns"):
        return {f"X.{name}": _safe_indexing(X, place, axis=1) for place, name in enumerate(X.columns)}
    return {"X": list_column(X) if X.ndim > 1 and X.dtype.kind != "O" else [str(row) for row in X]}
