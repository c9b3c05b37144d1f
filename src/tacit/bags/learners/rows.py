"""Feature rows from a frame, an Arrow table, an Ibis table or a path: only the columns that are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ibis
import pandas as pd
import pyarrow as pa

from tacit.data import load_table, read_rows
from tacit.data.names import check_present

__all__ = ["read_features"]


def read_features(features: Any, columns: Sequence[str]) -> pa.Table:  # noqa: ANN401
    """Return the columns of all rows."""
    if isinstance(features, pd.DataFrame) and all(name in features.columns for name in columns):
        return pa.Table.from_pandas(features[list(columns)], preserve_index=False)
    if isinstance(features, pa.Table):
        for name in columns:
            check_present(name, features.column_names, argument="features")
        return features.select(list(columns))
    lazy = features if isinstance(features, ibis.Table) else load_table(features)
    for name in columns:
        check_present(name, lazy.columns, argument="features")
    return read_rows(lazy, columns=list(columns))
