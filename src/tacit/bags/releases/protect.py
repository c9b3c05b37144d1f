"""From a private table to a release of bags: read and checked, then charged, then drawn."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tacit.bags.mechanisms.encoding import loss_of_plan
from tacit.bags.mechanisms.engine import open_rows
from tacit.bags.mechanisms.preparation import PrivateRows
from tacit.bags.plan import Plan
from tacit.bags.releases.release import Release, guarantee_of
from tacit.data.locations import files_read
from tacit.data.rows import parse_once
from tacit.privacy.delivery import ReleaseRequest, deliver
from tacit.privacy.edge import Progress, checked
from tacit.privacy.noise import is_seeded, system_rng
from tacit.privacy.targets import Target, check_target

if TYPE_CHECKING:
    from tacit.privacy.payment import Payment

__all__ = ["protect"]


@checked(data="the table has all that is released")
def protect(
    table: object,
    plan: Plan,
    *,
    data: object = None,  # noqa: ARG001
    out: Target = None,
    payment: Payment | None = None,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Release:
    """Release the label totals of bags of rows, and nothing else of the private column.

    Unit label (default): neighbors differ in one row's label; features, keys and counts of bags are public. Unit
    record: neighbors differ in one row; only the number of rows and what the plan declares is public. Not protected:
    what rows of a bag have in common, more rows of a person than the plan states, and how long it takes.

    Parameters
    ----------
    table
        The private table: what ``open_table`` takes, or a Spark table.
    out
        The folder to write; None returns a release in memory.

    Examples
    --------
    >>> import pyarrow as pa
    >>> people = pa.table({"city": ["bonn", "oslo"] * 50, "ill": ["no", "no", "yes", "no"] * 25})
    >>> release = protect(people, Plan(label="ill", epsilon=1, by=["city"]), rng=np.random.default_rng(0))
    >>> print(release)
    bags by curated: epsilon 1 for one label
    >>> release.totals.partitions[0].keys["city"].to_pylist()
    ['bonn', 'oslo']
    """
    check_target(out, plan, sources=files_read(table), payment=payment)
    generator = system_rng() if rng is None else rng
    with open_rows(table) as opened:
        raw = parse_once(opened, table, columns=[plan.label, *plan.columns])
        rows = PrivateRows.of_plan(plan, raw, rng=generator, progress=progress)
        loss = loss_of_plan(plan, rows.encoding.classes)
        guarantee = guarantee_of(plan, loss, classes=rows.encoding.classes)
        prepared = plan.mechanism.prepare(plan, rows, loss)
        request = ReleaseRequest(
            plan=plan,
            guarantee=guarantee,
            seeded=is_seeded(generator),
            rows=rows.batches if rows.ordered else None,
            private=[plan.label],
        )

        def draw() -> Release:
            return Release.of_totals(prepared.draw(generator), plan, guarantee=guarantee, rows=rows)

        release = deliver(Release, request, draw=draw, out=out, payment=payment, sources=files_read(table))
        return replace(release, left_out=rows.left_out())
