"""Whether two tables that are matched by place have their rows in one order, as far as shared columns tell."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit.privacy.errors import InvalidInput

__all__ = ["ASSUMED", "check_order"]

ASSUMED = (
    "The rows of truth were matched by place: no column of the release tells their order, and another order looks like "
    "another randomization."
)


def check_order(rows: pa.Table, other: pa.Table, *, against: str) -> tuple[str, ...]:
    """Return the columns by which two tables have the same rows in the same order; raise if one says otherwise.

    Columns are compared if they have the same name and type in both.
    """
    shared = [
        name
        for name in rows.column_names
        if name in other.column_names
        and rows.schema.field(name).type == other.schema.field(name).type
        and not pa.types.is_nested(rows.schema.field(name).type)
    ]
    for name in shared:
        gaps = pc.and_(pc.is_null(rows[name], nan_is_null=True), pc.is_null(other[name], nan_is_null=True))
        same = pc.or_(pc.fill_null(pc.equal(rows[name], other[name]), False), gaps)
        differing = np.flatnonzero(~np.asarray(same))
        if len(differing):
            raise InvalidInput(
                f"must have its rows in the order of {against}: column {name!r} differs in {len(differing):,} of "
                f"{rows.num_rows:,} rows, first in row {differing[0] + 1:,}",
                field="truth",
            )
    return tuple(shared)
