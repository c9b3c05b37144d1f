"""Curated bags: rows with equal values in some columns, one partition of the table per set of columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tacit.privacy.errors import InvalidInput
from tacit.privacy.settings import Choice
from tacit.privacy.unit import Unit

if TYPE_CHECKING:
    from tacit.bags.losses import SemilinearLoss
    from tacit.bags.mechanisms.preparation import PreparedBags, PrivateRows
    from tacit.bags.plan import Plan
    from tacit.privacy.guarantee import AnyGuarantee

__all__ = ["CuratedMechanism", "check_feature_sets"]


@dataclass(frozen=True, kw_only=True)
class CuratedMechanism(Choice):
    """Group rows by the values of ``by``, and add noise of the plan's epsilon to the label totals.

    Unit label: neighbors differ in one row's label; features, keys and counts of bags are public. Unit record:
    neighbors differ in one row; keys come from declared values and edges, and counts get noise too. Not protected:
    what groups of rows have in common, and groups larger than the plan's ``rows_per_person``.
    """

    name: ClassVar[str] = "curated"

    def check(self, plan: Plan) -> None:
        """Raise if the plan's fields do not describe curated bags."""
        check_feature_sets(plan.by, label=plan.label, edges=plan.edges, categories=plan.categories)
        _check_selection(plan)

    def guarantee(self, plan: Plan, loss: SemilinearLoss) -> AnyGuarantee:
        """Return the guarantee of a release of this plan, for any rows."""
        from tacit.bags.mechanisms.prepared_partitions import state_guarantee

        return state_guarantee(plan, loss)

    def describe(self, plan: Plan, loss: SemilinearLoss) -> Mapping[str, Any]:
        """Return the noise of a release of this plan, as its header states it."""
        from tacit.bags.mechanisms.prepared_partitions import rule_of

        return rule_of(plan, loss).describe()

    def prepare(self, plan: Plan, rows: PrivateRows, loss: SemilinearLoss) -> PreparedBags:
        """Group the rows and check that the release can be made; nothing is drawn."""
        from tacit.bags.mechanisms.prepared_partitions import PreparedPartitions

        return PreparedPartitions.of(plan, rows, loss)


def check_feature_sets(by: Sequence[Sequence[str]], *, label: str, **declared: Iterable[str]) -> None:
    """Raise unless ``by`` names different sets of columns, and what is declared is for columns in them."""
    if not by or not all(by):
        raise InvalidInput("must name the columns of at least one partition, for curated bags", field="by")
    sets = [frozenset(one) for one in by]
    if any(len(named) < len(one) for named, one in zip(sets, by, strict=True)):
        raise InvalidInput("must name different columns in each partition", field="by")
    if len(set(sets)) < len(sets):
        raise InvalidInput("must name different partitions: the same one twice would be charged twice", field="by")
    if any(label in one for one in by):
        raise InvalidInput(f"must not name the private column {label!r}", field="by")
    for name, columns in declared.items():
        unknown = set(columns) - set().union(*sets)
        if unknown:
            raise InvalidInput(f"must be for columns in by, got {', '.join(sorted(unknown))}", field=name)


def _check_selection(plan: Plan) -> None:
    if plan.select is None:
        if plan.selection_epsilon is not None:
            raise InvalidInput("requires select, how many partitions to keep", field="selection_epsilon")
        return
    if plan.select >= len(plan.by):
        raise InvalidInput(f"must be fewer than the {len(plan.by)} partitions of by, got {plan.select}", field="select")
    if plan.epsilon is None:
        raise InvalidInput("requires epsilon: exact totals reveal more than the choice", field="select")
    if plan.protected is not Unit.LABEL:
        raise InvalidInput("is for the unit label: the choice reads the features as they are", field="select")
    if plan.selection_epsilon is not None and plan.selection_epsilon >= plan.epsilon:
        raise InvalidInput(
            f"must be below epsilon {plan.epsilon:g}, got {plan.selection_epsilon:g}", field="selection_epsilon"
        )
