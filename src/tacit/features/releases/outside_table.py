"""Tables that a learner or an attacker has, read as the columns that a release has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data import load_table, numeric_matrix, read_rows
from tacit.data.names import check_present
from tacit.privacy.errors import InvalidInput

__all__ = ["read_features", "read_labeled"]


def read_features(table: object, names: Sequence[str], *, field: str) -> NDArray[np.float64]:
    """Return some columns of a table as numbers; raise in the name of the argument ``field`` if they are none."""
    return read_labeled(table, names, label=None, field=field)[0]


def read_labeled(
    table: object, names: Sequence[str], *, label: str | None, field: str
) -> tuple[NDArray[np.float64], list[Any]]:
    """Return the same, and the labels of the rows."""
    lazy = load_table(table)
    wanted = [*names, *([] if label is None else [label])]
    for name in wanted:
        check_present(name, lazy.columns, argument=field)
    rows = read_rows(lazy, columns=wanted)
    values = numeric_matrix(rows, columns=names)
    if not np.isfinite(values).all():
        raise InvalidInput("must have finite features, got missing, NaN or infinite ones", field=field)
    return values, [] if label is None else rows[label].to_pylist()
