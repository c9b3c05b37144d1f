"""Partitions that are ready to be released: rows grouped by their features, checked, before anything is drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tacit.bags.losses import SemilinearLoss
from tacit.bags.mechanisms.engine import GroupedRows, check_labels, group_rows
from tacit.bags.mechanisms.measure import GridStatistic, public_grid
from tacit.bags.mechanisms.noise import noise_of_budget
from tacit.bags.mechanisms.preparation import PrivateRows
from tacit.bags.mechanisms.selection import choice_noise, choose_sets
from tacit.bags.mechanisms.sizes import SizeRule
from tacit.bags.mechanisms.totals_rule import TotalsRule
from tacit.bags.partition import BagTotals, KeyColumn
from tacit.data.names import check_present
from tacit.data.queries import column_of
from tacit.data.view import TableView
from tacit.privacy.composition import compose
from tacit.privacy.edge import Progress
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import AnyGuarantee, Guarantee
from tacit.privacy.rounding import check_delta, exact

if TYPE_CHECKING:
    import ibis

    from tacit.bags.plan import Plan

__all__ = ["PreparedPartitions", "group_partitions", "rule_of", "state_guarantee"]

FeatureSet = tuple[KeyColumn, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PreparedPartitions:
    """A plan's grouped rows: of every partition of ``by``, from which some may be chosen."""

    plan: Plan
    private: PrivateRows
    loss: SemilinearLoss
    sets: tuple[FeatureSet, ...]
    grouped: Sequence[GroupedRows]
    rows: int

    @classmethod
    def of(cls, plan: Plan, private: PrivateRows, loss: SemilinearLoss) -> PreparedPartitions:
        """Group the rows of a plan; raise if a column, a label or a bag does not serve."""
        sets = tuple(tuple(_feature(name, plan, private.table) for name in names) for names in plan.by)
        rule = rule_of(plan, loss)
        if plan.select is not None:
            choice_noise(rule.measure, epsilon=_split(plan)[0], sets=plan.select)
        guarantee = state_guarantee(plan, loss)
        count, grouped = group_partitions(private.table, sets, plan.label, rule, guarantee, private.progress)
        return cls(plan=plan, private=private, loss=loss, sets=sets, grouped=grouped, rows=count)

    def draw(self, rng: np.random.Generator) -> BagTotals:
        """Choose partitions if the plan requires it, then add noise, then make partitions agree."""
        plan = self.plan
        grouped = [self.grouped[i] for i in self._chosen(rng)]
        made = rule_of(plan, self.loss).release(
            grouped, guarantee=state_guarantee(plan, self.loss), label=plan.label, rows=self.rows, rng=rng
        )
        if plan.epsilon is None or not plan.consistent or len(grouped) == 1:
            return made
        from tacit.bags.mechanisms.consistency import make_consistent  # and with it SciPy's sparse solvers

        return make_consistent(made, rng=rng).release

    def _chosen(self, rng: np.random.Generator) -> Sequence[int]:
        plan = self.plan
        if plan.select is None:
            return range(len(self.sets))
        choice, rest = _split(plan)
        chosen = choose_sets(
            self.private.table,
            candidates=self.sets,
            sets=plan.select,
            label=plan.label,
            loss=self.loss,
            epsilon=choice,
            noise=noise_of_budget(rest, delta=plan.delta),
            rng=rng,
        )
        return sorted(self.sets.index(one) for one in chosen.sets)


def state_guarantee(plan: Plan, loss: SemilinearLoss) -> AnyGuarantee:
    """Return what curated bags of a plan guarantee: noise and choice together, for all rows of one person."""
    k = plan.rows_per_person
    noise = rule_of(plan, loss).guarantee(k)
    if plan.select is None or plan.epsilon is None or not isinstance(noise, Guarantee):
        return noise
    choice = Guarantee(unit=noise.unit, epsilon=_split(plan)[0]).for_group(rows=k)
    both = compose([noise, choice], delta=plan.delta)
    return replace(both, epsilon=plan.epsilon) if k == 1 else both  # the two epsilons add up to the plan's


def rule_of(plan: Plan, loss: SemilinearLoss) -> TotalsRule:
    """Return how the totals of a plan are made."""
    noise = None if plan.epsilon is None else noise_of_budget(_split(plan)[1], delta=plan.delta)
    return TotalsRule(
        measure=GridStatistic(loss=loss, grid=None if noise is None else public_grid(loss)),
        noise=noise,
        unit=plan.protected,
        sizes=SizeRule(least=plan.least, small=plan.small),
        partitions=plan.select or len(plan.by),
    )


def _split(plan: Plan) -> tuple[float, float]:
    """The epsilon of the choice and of the totals, which add up to at most the plan's, read as decimals."""
    whole = plan.epsilon or 0.0
    if plan.select is None:
        return 0.0, whole
    choice = whole / 10 if plan.selection_epsilon is None else plan.selection_epsilon
    rest = float(exact(whole) - exact(choice))
    while exact(rest) + exact(choice) > exact(whole):
        rest = math.nextafter(rest, 0.0)
    return choice, rest


def group_partitions(
    rows: TableView | ibis.Table,
    sets: Sequence[FeatureSet],
    label: str,
    rule: TotalsRule,
    guarantee: AnyGuarantee,
    progress: Progress | None,
) -> tuple[int, list[GroupedRows]]:
    """Return how many rows there are, and the bags of each feature set, ready for noise.

    Raises
    ------
    InvalidInput
        If a column cannot be a key, or a label is missing or out of range.

    References
    ----------
    Chen et al. (2023), Algorithms 1 and 2. Proof: docs/proofs/bags.md.
    """
    for feature in (feature for features in sets for feature in features):
        check_present(feature.name, rows.columns, argument="by")
        feature.in_sql(column_of(rows, feature.name))  # raises if it cannot be a key
    count = check_labels(rows, label=label, measure=rule.measure)
    if isinstance(guarantee, Guarantee):
        rule.measure.check_rows(count)
        check_delta(guarantee.delta, rows=count)  # how many rows there are is public
    grouped = []
    for done, features in enumerate(sets):
        made = group_rows(rows, features=features, label=label, measure=rule.measure)
        if made.counts.sum() != count:
            raise InvalidInput(f"the table changed while it was read: it had {count} rows and then another number")
        grouped.append(rule.prepare(made))
        if progress is not None:
            progress(done + 1, len(sets))
    return count, grouped


def _feature(name: str, plan: Plan, rows: TableView | ibis.Table) -> KeyColumn:
    """A key column of a plan; declared values are read as the column's kind, numbers or text."""
    edges, words = plan.edges.get(name), plan.categories.get(name)
    if words is None:
        return KeyColumn(name, edges=edges)
    return KeyColumn(name, edges=edges, values=_numbers(name, words) if column_of(rows, name).is_number else words)


def _numbers(name: str, words: Sequence[str]) -> tuple[float, ...]:
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        raise InvalidInput(
            f"must be numbers for the column {name!r}, got {', '.join(words)}", field="categories"
        ) from None
    return tuple(map(int, numbers)) if all(one.is_integer() for one in numbers) else tuple(numbers)
