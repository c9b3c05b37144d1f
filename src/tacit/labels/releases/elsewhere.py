"""Labels that somebody else has randomized, as a release to learn from and to attack."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tacit.data import open_table, read_rows
from tacit.data.classes import Classes
from tacit.data.names import check_present
from tacit.labels.mechanisms.base import LABEL
from tacit.labels.plan import Plan
from tacit.labels.releases.arrays import header_of, settle, try_out
from tacit.labels.releases.release import ROWS, Release
from tacit.privacy.errors import InvalidInput
from tacit.privacy.releases import TableMember

__all__ = ["release_made_elsewhere"]


def release_made_elsewhere(table: object, plan: Plan) -> Release:
    """Return a table of labels that are randomized already as a release by this plan; nothing is drawn or charged.

    Its guarantee is what the plan states: whoever randomized the labels must have done it in this way. ``attack`` with
    the true labels of some rows tests that.

    Parameters
    ----------
    table
        The randomized labels in the column ``plan.label``, and the features that the plan names.
    plan
        How the labels were made, with its classes and, where the mechanism has one, its prior.

    Examples
    --------
    >>> clicks = pa.table({"price": [3, 5, 8, 2] * 50, "bought": ["no", "no", "yes", "no"] * 50})
    >>> plan = Plan(label="bought", epsilon=8, classes=("no", "yes"), features=("price",), mechanism="reports")
    >>> release = release_made_elsewhere(clicks, plan)
    >>> release.evidence.likelihood[2].round(3), str(release.guarantee)
    (array([0.495, 1.   ]), 'epsilon 8 for one label')
    """
    if plan.classes is None or plan.mechanism.numbers or plan.mechanism.needs_features or plan.person is not None:
        raise InvalidInput(
            "must have classes, no person, and a mechanism of classes that learns from no features", field="plan"
        )
    if getattr(plan.mechanism, "share", 0.0) and plan.prior is None:
        raise InvalidInput("must be given: it was estimated where the labels were randomized", field="prior")
    rows = table if isinstance(table, pa.Table) else read_rows(open_table(table))
    for name in (plan.label, *plan.shown(rows.column_names)):
        check_present(name, rows.column_names, argument="plan")
    coding = Classes.of(rows[plan.label], declared=plan.classes)
    codes = coding.encode(rows[plan.label])
    try_out(plan, coding)
    mechanism = settle(plan, coding, counts=np.bincount(codes[codes >= 0]), rng=np.random.default_rng(0))
    features = rows.select(plan.shown(rows.column_names))
    released = features.append_column(LABEL, coding.decode(codes))
    header = header_of(plan, mechanism, plan.guarantee(), seeded=False)
    return Release(header=header, members={ROWS: TableMember(released)})
