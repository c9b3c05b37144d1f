"""Tables that a learner or an attacker has, encoded as the release's rows were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data import open_table, read_rows
from tacit.data.amounts import cut_column
from tacit.data.names import check_present
from tacit.features.releases.release import Release

__all__ = ["read_features", "read_labeled"]


def read_features(release: Release, table: object, *, field: str) -> NDArray[np.float64]:
    """Return the released features of a table's rows; ``field`` is what the table is called in an error."""
    return read_labeled(release, table, names=release.features, label=None, field=field)[0]


def read_labeled(
    release: Release, table: object, *, names: Sequence[str], label: str | None, field: str
) -> tuple[NDArray[np.float64], list[Any]]:
    """Return some of the released features, and the classes of the rows."""
    lazy = open_table(table)
    release.encoder.check(lazy.columns, only=names, field=field)
    wanted = [] if label is None else [check_present(label, lazy.columns, argument=field)]
    rows = read_rows(lazy, columns=[*release.encoder.columns(names), *wanted])
    labels = [] if label is None else cut_column(rows[label], release.plan).to_pylist()
    return release.encoder.encode(rows, only=names), labels
