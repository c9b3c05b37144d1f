"""From a table of any size to a release: checked and counted, charged, then randomized batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tacit.data.locations import files_read
from tacit.data.names import check_present
from tacit.data.table import open_table
from tacit.labels.plan import ALL, Plan
from tacit.labels.releases.arrays import header_of
from tacit.labels.releases.label_survey import LabelSurvey
from tacit.labels.releases.release import PERSON_SEED, ROWS, Release
from tacit.labels.releases.source import TableSource
from tacit.labels.releases.spark import LabelSource, SparkSource, spark_frame
from tacit.labels.releases.weights import with_weights
from tacit.privacy.delivery import ReleaseRequest, deliver
from tacit.privacy.edge import Progress, checked
from tacit.privacy.errors import InvalidInput
from tacit.privacy.noise import is_seeded, system_rng
from tacit.privacy.releases import TableMember
from tacit.privacy.targets import Target

if TYPE_CHECKING:
    from tacit.privacy.payment import Payment

__all__ = ["protect"]


@checked(data="labels are randomized from the table alone")
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
    """Randomize the labels of a table once, and release them with the columns that the plan names.

    The table is read once to check and count the labels, while the ledger recognizes them, and once to randomize them
    in batches. Unit: one row's label; neighbors differ in that label alone. Not protected: the columns released beside
    it, the number of rows, and, without declared classes, which classes occur.

    Parameters
    ----------
    table
        What ``tacit.data.open_table`` takes, or a Spark frame: workers then randomize the labels where they are. Rows
        without an order (Spark, a database) must be released beside a column to match them by.
    out
        The Parquet file to write, completely or not at all; None returns the release in memory.

    Raises
    ------
    InvalidInput
        Before anything is charged or written.
    BudgetExceeded
        The ledger refuses; nothing is drawn.

    Examples
    --------
    >>> visits = pa.table({"age": [31, 64, 50], "ill": ["no", "yes", "no"]})
    >>> plan = Plan(label="ill", epsilon=1, classes=("no", "yes"), features=("age",))
    >>> release = protect(visits, plan, rng=np.random.default_rng(0))
    >>> release.table.column_names, str(release.guarantee)
    (['age', 'label'], 'epsilon 1 for one label')
    """
    source = _open(table)
    generator = system_rng() if rng is None else rng
    columns = _columns(plan, source)
    survey = LabelSurvey(source, plan, columns)
    if not source.ordered:
        _check_unordered(plan, generator, source)
        survey.complete()
    request = ReleaseRequest(
        plan=plan,
        guarantee=plan.guarantee(),
        seeded=is_seeded(generator),
        rows=survey.read if source.ordered else None,
        private=[plan.label],
    )
    release = deliver(
        Release,
        request,
        draw=lambda: _draw(survey, request, generator, progress),
        out=out,
        payment=payment,
        sources=files_read(table),
    )
    return replace(release, left_out=survey.left_out, follows_order=survey.follows_order, copies=survey.copies)


def _open(table: object) -> LabelSource:
    frame = spark_frame(table)
    return TableSource(table=open_table(table)) if frame is None else SparkSource(frame)


def _columns(plan: Plan, source: LabelSource) -> list[str]:
    """The columns that are released beside the labels."""
    check_present(plan.label, source.columns, argument="label")
    if plan.person is not None:
        check_present(plan.person, source.columns, argument="person")
    if plan.features == ALL:
        named = tuple(name for name in source.columns if name != plan.label)
        return list(replace(plan, features=named).features)  # none is a column of the release
    for name in plan.features:
        check_present(name, source.columns, argument="features")
    return list(plan.features)


def _check_unordered(plan: Plan, rng: np.random.Generator, source: LabelSource) -> None:
    if not plan.features:
        raise InvalidInput(
            "must name a column to match labels to rows by: the rows of this table have no order", field="features"
        )
    if plan.person is not None:
        raise InvalidInput("must be left out: the rows of this table have no order", field="person")
    source.check(plan, rng)


def _draw(survey: LabelSurvey, request: ReleaseRequest, rng: np.random.Generator, progress: Progress | None) -> Release:
    """Draw after the charge: the rows to release, then an estimated prior, then the labels while they are written."""
    plan = survey.plan
    chosen = survey.choose(rng)
    mechanism = survey.settle(chosen, rng)
    rows = survey.rows if chosen is None else int(chosen.mask.sum())
    drawn = survey.source.randomize(survey, mechanism, chosen, rng)
    if plan.weights:
        drawn = (with_weights(batch, mechanism) for batch in drawn)
    batches = _counted(drawn, rows, progress)
    first = next(batches)
    ordered = survey.source.ordered and not plan.shuffle
    header = header_of(plan, mechanism, plan.guarantee(), seeded=request.seeded, ordered=ordered)
    if chosen is not None:
        header = replace(header, settled={**header.settled, PERSON_SEED: chosen.seed})
    return Release(header=header, members={ROWS: TableMember(chain([first], batches), schema=first.schema)})


def _counted(batches: Iterator[pa.RecordBatch], rows: int, progress: Progress | None) -> Iterator[pa.RecordBatch]:
    done = 0
    for batch in batches:
        done += batch.num_rows
        yield batch
        if progress is not None:
            progress(done, rows)
    if done != rows:
        raise InvalidInput(f"the table changed while it was read: it had {rows} rows and then {done}")
