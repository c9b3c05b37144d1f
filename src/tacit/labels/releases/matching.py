"""What a learner or an attacker has besides a release: its rows in another table, and their features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tacit.data import open_table, read_rows
from tacit.data.names import check_present
from tacit.data.persons import limit_rows
from tacit.labels.releases.release import PERSON_SEED, Release
from tacit.privacy.errors import InvalidInput

__all__ = ["feature_names", "rows_of"]

_PLACE, _ROW = "tacit place", "tacit row"


def rows_of(release: Release, table: object, *, field: str) -> pa.Table:
    """Return a table's rows in the order of the release: by place, or by the columns that both have.

    Raises
    ------
    InvalidInput
        The table does not have the rows that the release was made from.
    """
    rows = table if isinstance(table, pa.Table) else read_rows(open_table(table))
    if release.header.ordered:
        rows = _rows_used(release, rows, field=field)
        if rows.num_rows != release.rows:
            raise InvalidInput(f"must have the {release.rows} rows of the release, got {rows.num_rows}", field=field)
        return rows
    keys = [name for name in release.feature_names if name in rows.column_names]
    if not keys:
        raise InvalidInput(
            "must share a column with the release, because its rows have no order to match by", field=field
        )
    left = release.table.select(keys).append_column(_PLACE, pa.array(np.arange(release.rows)))
    right = rows.select(keys).append_column(_ROW, pa.array(np.arange(rows.num_rows)))
    joined = left.join(right, keys, join_type="left outer").sort_by(_PLACE)
    if joined.num_rows != release.rows or joined[_ROW].null_count:
        raise InvalidInput(
            f"must have one row for each row of the release, matched by {', '.join(keys)}, which does not "
            "distinguish the rows",
            field=field,
        )
    return rows.take(joined[_ROW])


def feature_names(release: Release, rows: pa.Table, wanted: Sequence[str], *, own: bool) -> list[str]:
    """Return the named columns, or all but labels and the person."""
    plan = release.asked
    hidden = {plan.label, plan.person, "label"} | (
        {"stage", "prior"} if own and plan.mechanism.needs_features else set()
    )
    if not wanted:
        found = [name for name in rows.column_names if name not in hidden]
        if not found:
            raise InvalidInput("must be given: the release has no features beside its labels", field="data")
        return found
    if hidden & set(wanted):
        named = min(name for name in hidden & set(wanted) if name is not None)
        raise InvalidInput(f"must not name {named!r}, which is no feature", field="features")
    if len(set(wanted)) < len(wanted):
        raise InvalidInput(f"must name each column once, got {', '.join(wanted)}", field="features")
    return list(wanted)


def _rows_used(release: Release, rows: pa.Table, *, field: str) -> pa.Table:
    """The rows that were chosen where a person has more than the plan uses, found again by the public seed."""
    person = release.asked.person
    if person is None:
        return rows
    check_present(person, rows.column_names, argument=f"{field}'s person")
    limit = release.asked.rows_per_person
    return rows.take(pa.array(limit_rows(rows[person], rows=limit, seed=release.settled[PERSON_SEED])))
