"""The features that a plan names, and their encoder by public rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tacit.data.encoder.encoder import Encoder
from tacit.data.names import check_present
from tacit.data.queries import schema_of
from tacit.privacy.encoded_plan import EncodedPlan
from tacit.privacy.errors import InvalidInput

if TYPE_CHECKING:
    import ibis

    from tacit.data.view import TableView

__all__ = ["declared_encoder", "planned_features"]


def planned_features(plan: EncodedPlan, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that a plan names, or all but the label and the person."""
    check_present(plan.label, columns, argument="label")
    if plan.person is not None:
        check_present(plan.person, columns, argument="person")
    for name in plan.features:
        check_present(name, columns, argument="features")
    names = plan.features or tuple(name for name in columns if name not in (plan.label, plan.person))
    if not names:
        raise InvalidInput("must name a column besides the label, there is none", field="features")
    return names


def declared_encoder(plan: EncodedPlan, table: TableView | ibis.Table) -> Encoder:
    """Return the encoder of a table's features from their names and types and the plan; no row is read."""
    names = planned_features(plan, table.columns)
    return Encoder.declared(
        schema_of(table, names), names, ranges=plan.ranges, categories=plan.categories, gaps=plan.gaps
    )
