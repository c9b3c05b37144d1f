"""The rows of another table in the order of a release's rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tacit.data import load_table, read_rows
from tacit.labels.releases.release import Release
from tacit.privacy.errors import InvalidInput

__all__ = ["rows_of"]

_PLACE, _ROW = "tacit place", "tacit row"


def rows_of(release: Release, table: object, *, field: str) -> pa.Table:
    """Return a table's rows in the order of the release: by place, or by the columns that both have.

    Raises
    ------
    InvalidInput
        The table does not have exactly one row for each row of the release.
    """
    rows = table if isinstance(table, pa.Table) else read_rows(load_table(table))
    if release.header.ordered:
        if rows.num_rows != release.rows:
            raise InvalidInput(f"must have the {release.rows} rows of the release, got {rows.num_rows}", field=field)
        return rows
    keys = [name for name in release.feature_names if name in rows.column_names]
    if not keys:
        raise InvalidInput(
            "must share a column with the release, whose rows have no order to match them by", field=field
        )
    left = release.table.select(keys).append_column(_PLACE, pa.array(np.arange(release.rows)))
    right = rows.select(keys).append_column(_ROW, pa.array(np.arange(rows.num_rows)))
    joined = left.join(right, keys, join_type="left outer").sort_by(_PLACE)
    if joined.num_rows != release.rows or joined[_ROW].null_count:
        raise InvalidInput(
            f"must have one row for each row of the release, matched by {', '.join(keys)}, which does not tell the "
            "rows apart",
            field=field,
        )
    return rows.take(joined[_ROW])
