"""From a table of any size to a release of features: surveyed, charged, selected, drawn, written whole."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tacit.data.locations import files_read
from tacit.features.mechanisms.moments import ClassMoments
from tacit.features.mechanisms.selected import Batches, SelectedColumns
from tacit.features.plan import Plan
from tacit.features.releases.bound_plan import BoundPlan, box_of
from tacit.features.releases.feature_table import FeatureTable
from tacit.features.releases.release import Release
from tacit.privacy.delivery import ReleaseRequest, deliver
from tacit.privacy.edge import Progress, checked
from tacit.privacy.noise import is_seeded, system_rng
from tacit.privacy.releases import ReleaseHeader
from tacit.privacy.rounding import check_delta
from tacit.privacy.targets import Target, check_target
from tacit.privacy.unit import Unit

if TYPE_CHECKING:
    from tacit.privacy.payment import Payment

__all__ = ["protect"]


@checked(data="a release of features depends on the table alone")
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
    """Release a table's features: Parquet for noisy rows, JSON for class totals.

    Columns of any type become numbers by the plan's public rules. The table is read once to add up class totals, and
    once more, the selected columns only, to release rows. A ledger is charged before any noise is drawn.

    Unit: one record, its label included; neighbors replace one record, or with ``person`` all rows of one person.
    Not protected: see :class:`Plan`.

    Parameters
    ----------
    payment
        The ledger to charge. It recognizes the table by all its columns, or by its labels where the unit is a label.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 500)
    >>> rows = pa.table({"a": rng.normal(size=500) / 4 + y / 2, "b": rng.normal(size=500) / 4, "y": y})
    >>> plan = Plan(label="y", epsilon=2, delta=1e-5, select=1, ranges={"*": (-1, 1)}, mechanism="totals")
    >>> release = protect(rows, plan, rng=rng)
    >>> print(release)
    features by totals: epsilon 2, delta 1e-5 for one record
    >>> release.features, release.totals.sums.shape
    (('a',), (2, 1))
    """
    check_target(out, plan, sources=files_read(table), payment=payment)
    rng = system_rng() if rng is None else rng
    source = FeatureTable.of(table, plan, rng=rng)
    names = source.encoder.names
    bound = BoundPlan.of(plan, features=len(names), classes=len(source.classes), rows=source.rows)
    guarantee = bound.guarantee(features=plan.select or len(names))
    moments = source.survey(
        box=box_of(source.encoder, names), progress=progress and (lambda done, total: progress(done, 2 * total))
    )
    check_delta(plan.delta, rows=source.rows)
    request = ReleaseRequest(
        plan=plan,
        guarantee=guarantee,
        seeded=is_seeded(rng),
        rows=source.batches,
        private=[plan.label] if plan.unit is Unit.LABEL else list(source.raw.columns),
    )
    return deliver(
        Release,
        request,
        draw=partial(_draw, bound, source, moments, rng=rng, progress=progress),
        out=out,
        payment=payment,
        sources=files_read(table),
    )


def _draw(
    bound: BoundPlan,
    source: FeatureTable,
    moments: ClassMoments,
    *,
    rng: np.random.Generator,
    progress: Progress | None,
) -> Release:
    places = bound.select(moments, rng=rng)
    names = tuple(source.encoder.names[j] for j in places)
    box = box_of(source.encoder, names)
    selected = SelectedColumns(
        names=names,
        label=bound.plan.label,
        classes=source.classes,
        box=box,
        moments=moments.take(places),
        read=partial(_read, source, names, progress),
    )
    header = ReleaseHeader(
        surface=bound.plan.surface,
        plan=bound.plan.to_json(),
        guarantee=bound.guarantee(features=len(names)),
        seeded=is_seeded(rng),
        settled=bound.describe(names, source.classes.values, box=box),
        encoder=source.encoder.to_json(),
    )
    return Release(header=header, members=bound.mechanism.draw(selected, rng=rng))


def _read(source: FeatureTable, names: tuple[str, ...], progress: Progress | None) -> Batches:
    done = source.rows
    for values, codes in source.read(names):
        yield values, codes
        done += len(codes)
        if progress:
            progress(done, 2 * source.rows)
