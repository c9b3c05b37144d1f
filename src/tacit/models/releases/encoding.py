"""From the columns of a table to the numbers that a model takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.data import Encoder, label_column, open_table, read_rows
from tacit.data.amounts import check_classes, cut_column
from tacit.data.classes import Classes
from tacit.data.encoder.planned import declared_encoder, planned_features
from tacit.data.names import check_present
from tacit.data.persons import draw_seed, limit_table
from tacit.models.plan import Plan
from tacit.models.points import TrainingPoints
from tacit.models.releases.release import Release
from tacit.privacy.errors import InvalidInput
from tacit.privacy.plan import Plan as AnyPlan

if TYPE_CHECKING:
    import ibis

    from tacit.data.view import TableView

__all__ = ["encoder_of_numbers", "read_labeled", "read_points"]


def read_points(
    table: TableView | ibis.Table, plan: Plan, *, rng: np.random.Generator
) -> tuple[TrainingPoints, Encoder]:
    """Read the rows that a plan trains on, and how they became numbers."""
    declared = declared_encoder(plan, table) if plan.mechanism.private_features else None
    names = planned_features(plan, table.columns)
    columns = [*names, plan.label]
    if plan.person is not None:
        seed = draw_seed(rng)
        table = limit_table(table, columns=columns, person=plan.person, rows=plan.rows_per_person, seed=seed)
    rows = read_rows(table, columns=columns)
    encoder = declared or Encoder.fitted(
        rows, names, chosen=bool(plan.features), ranges=plan.ranges, categories=plan.categories
    )
    check_classes(rows[plan.label], plan)
    labels = _labels(rows, plan.label, plan)
    known = Classes.of(labels, declared=plan.cut_classes or plan.classes)
    codes = known.encode(labels)
    if plan.mechanism.two_classes and len(known) != 2:
        raise InvalidInput(
            f"must name a column of two values for {plan.mechanism.name}, {plan.label!r} has {len(known)}",
            field="label",
        )
    typed = pa.array(known.values).cast(pa.array(labels).type).to_pylist()
    return TrainingPoints(rows=encoder.scaled(rows), codes=codes, classes=tuple(typed)), encoder


def read_labeled(
    release: Release, source: object, *, features: Sequence[str], field: str
) -> tuple[pa.Table, NDArray[Any] | None]:
    """Read the columns that a model takes of an outsider's rows, and their labels where the table has them."""
    table, label = open_table(source), release.label
    for name in features:
        check_present(name, table.columns, argument=field)
    names = tuple(features) or tuple(name for name in table.columns if name != label)
    if label is None or label not in table.columns:
        return read_rows(table, columns=names), None
    rows = read_rows(table, columns=[*names, label])
    return rows.select(names), _labels(rows, label, release.plan)


def _labels(rows: pa.Table, label: str, plan: AnyPlan | None) -> NDArray[Any]:
    """Return the labels, or the classes that a plan's cuts make of them."""
    if isinstance(plan, Plan) and plan.cuts:
        rows = pa.table({label: cut_column(rows[label], plan)})
    return label_column(rows, label, least_classes=1)


def encoder_of_numbers(rows: pa.Table) -> Encoder:
    """Return the encoder of a model from elsewhere, which takes numbers unchanged; raise for rows with gaps."""
    encoder = Encoder.of_numbers(rows.column_names)
    for name in rows.column_names:
        if gaps := rows[name].null_count:
            raise InvalidInput(
                f"column {name!r} must have a number in every row, {gaps} have none: fill them in, drop those rows, or "
                "leave the column out of features"
            )
    return encoder
