"""Labels that exact totals of several releases determine together, where none of them does alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from tacit.bags.attacks.determined_labels import DeterminedLabels
    from tacit.bags.releases.release import Release

__all__ = ["determined_together"]


def determined_together(releases: Sequence[Release], table: pa.Table) -> DeterminedLabels | None:
    """Solve all exact totals as one system of equations; None if they are about other rows or label numbers.

    Parameters
    ----------
    releases
        Releases of bags of the rows of ``table``, in its order.
    """
    from tacit.bags.attacks.determined_labels import determined

    first = releases[0].encoding
    if any(release.asked.person is not None or release.encoding != first for release in releases):
        return None
    labels = first.read(table, argument="table")
    return determined([release.totals for release in releases], table, witness=labels)
