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
    keys = [name for name in release.feature_names if name in rows.column_names and _is_flat(release, name)]
    if not keys:
        raise InvalidInput(
            "must share a column with the release, because its rows have no order to match by", field=field
        )
    left, right = _coded(release.table.select(keys), rows.select(keys))
    left = left.append_column(_PLACE, pa.array(np.arange(release.rows)))
    right = right.append_column(_ROW, pa.array(np.arange(rows.num_rows)))
    joined = left.join(right, keys, join_type="left outer").sort_by(_PLACE)
    if joined.num_rows != release.rows or joined[_ROW].null_count:
        raise InvalidInput(
            f"must have one row for each row of the release, matched by {', '.join(keys)}, which does not "
            "distinguish the rows",
            field=field,
        )
    return rows.take(joined[_ROW])


def _is_flat(release: Release, name: str) -> bool:
    return not pa.types.is_nested(release.table.schema.field(name).type)


def _coded(left: pa.Table, right: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Two tables with each value as its code: a join takes no gap for the same as another, and codes it does."""
    codes: list[dict[str, pa.Array]] = [{}, {}]
    for name in left.column_names:
        both = pa.chunked_array([*left[name].chunks, *right[name].cast(left[name].type).chunks], left[name].type)
        plain = both.cast(both.type.value_type) if pa.types.is_dictionary(both.type) else both
        coded = plain.combine_chunks().dictionary_encode(null_encoding="encode").indices
        codes[0][name], codes[1][name] = coded[: left.num_rows], coded[left.num_rows :]
    return pa.table(codes[0]), pa.table(codes[1])


def feature_names(release: Release, rows: pa.Table, wanted: Sequence[str], *, own: bool) -> list[str]:
    """Return the named columns, or all but labels and the person."""
    plan = release.asked
    hidden = {plan.label, plan.person, "label"} | {name for name in rows.column_names if own and plan.is_own(name)}
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
