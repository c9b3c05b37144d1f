"""The leak of a release among the rows of each group, such as a region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit.leak import Leak, OddsChange, odds_changes

__all__ = ["MOST_GROUPS", "changes_by_group"]

MOST_GROUPS = 100
"""The most values of a column of groups."""


def changes_by_group(
    leak: Leak, rows: pa.Table, *, label: str, groups: str, classes: Sequence[str]
) -> tuple[OddsChange, ...]:
    """Return the change of odds of the most exposed class of each group, worst first; nothing without beliefs.

    The intervals of all groups share the error of the leak.

    Parameters
    ----------
    rows
        The rows that the leak is about, in its order.
    label, groups
        The private column, and the column whose values are the groups.
    classes
        The classes of the leak's beliefs, in their order.
    """
    if leak.before is None or leak.after is None or leak.after.shape != (rows.num_rows, len(classes)):
        return ()
    codes = pc.index_in(rows[label].cast(pa.string()), pa.array(classes, pa.string())).to_numpy()
    named = np.asarray(rows[groups].cast(pa.string()).fill_null("missing").to_pylist())
    values = np.unique(named)
    level = 1 - (1 - leak.interval.level) / len(values)
    found = []
    for value in values:
        own = named == value
        changes = odds_changes(leak.before[own], leak.after[own], codes[own], names=classes, level=level)
        found += [replace(change, name=f"{change.name}, {groups} {value}") for change in changes[:1]]
    return tuple(sorted(found, key=lambda change: (-change.odds_interval.low, -change.odds)))
