"""The columns that a learner or an attacker may use as features."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from tacit.labels.releases.release import Release
from tacit.privacy.errors import InvalidInput

__all__ = ["feature_names"]


def feature_names(release: Release, rows: pa.Table, wanted: Sequence[str], *, own: bool) -> list[str]:
    """Return the named columns, or all but labels and whose row it is."""
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
