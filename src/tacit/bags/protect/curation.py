"""Curated bags: rows grouped by their features, label totals exact or under a guarantee."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.bags.losses import SemilinearLoss
from tacit.bags.partition import BagRelease, Feature, Partition, as_features
from tacit.bags.protect.domain import fill_domain
from tacit.bags.protect.engine import DuckDBEngine, Engine, Grouped, check_labels, group_rows
from tacit.bags.protect.measure import Measure, public_grid
from tacit.bags.protect.noise import Calibrated, Query, TotalsNoise, check_shares
from tacit.bags.protect.sizes import KeepAll, Regrouping, Sizes, check_sizes
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee, NoGuarantee, Unit
from tacit.privacy.noise import Grid, is_seeded
from tacit.privacy.payment import Payment
from tacit.privacy.rounding import check_count

__all__ = ["Curation", "curate"]

Progress = Callable[[int, int], None]

_EXACT = NoGuarantee(reason="exact totals of bags: a bag of one row is that row's label")
_PUBLIC = "the features of all rows are public, and so are the keys and counts of bags"
_DECLARED = "the number of rows and the declared values and edges are public"
_COUNT_SHARE = Fraction(1, 2)  # of a partition's budget, where counts are private too


def curate(
    table: object,
    *,
    by: Sequence[str | Feature | Sequence[str | Feature]],
    label: str,
    loss: SemilinearLoss,
    edges: Mapping[str, Sequence[float]] | None = None,
    noise: TotalsNoise | None = None,
    unit: Unit = Unit.LABEL,
    grid: Grid | None = None,
    sizes: Sizes | None = None,
    rows_per_person: int = 1,
    payment: Payment | None = None,
    engine: Engine | None = None,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> BagRelease:
    """Return the label totals of bags: one partition of the rows for each feature set.

    For every feature set and every combination v of its values that occurs, the bag of rows with these values has
    count #{i: x_i = v} and total sum_{x_i = v} T(y_i). Under ``noise`` each total gets discrete noise
    before it leaves; everything else is post-processing.

    Unit ``LABEL``: neighbours differ in one row's label; it moves one total in each partition. Features, keys and
    counts are public by declaration. Unit ``RECORD``: neighbours differ in one whole row; keys come from declared
    values and edges, counts are noised from half of each partition's budget, and only the number of rows is public.
    Not protected: anything about groups larger than ``rows_per_person``, and how long it takes.

    Parameters
    ----------
    table
        What ``load_table`` takes (a path, a frame, an Ibis table of any backend), or what the engine takes.
    by
        The feature sets, such as ``[("C1", "C2"), ("C7",)]``.
    label
        The private column, numbers or truth values.
    loss
        Whose T(y) is added up.
    edges
        Where numeric columns are cut, by column: half-open buckets [a, b).
    noise
        :class:`LaplaceNoise` or :class:`GaussianNoise`; None for exact totals, which carry no guarantee.
    unit
        What one change changes, under noise.
    grid
        The public step that T(y) is rounded to, a power of two; default: 1 for classes, else 1/1000 of the range
        under noise, and no rounding without.
    sizes
        :class:`DropSmall` or :class:`MergeSmall`; default: every bag is kept.
    rows_per_person
        How many rows one person holds at most: the guarantee is then stated for all of them.
    payment
        The ledger to charge, before any noise is drawn.
    engine
        :class:`DuckDBEngine` (default) or :class:`SparkEngine`.
    rng
        Needed with noise: :func:`tacit.privacy.noise.system_rng` for a real release.
    progress
        Called with the partitions done and the partitions in all.

    Raises
    ------
    InvalidInput
        Before anything is charged.
    BudgetExceeded
        The ledger refuses; nothing is drawn.

    References
    ----------
    Chen et al. (2023), Algorithms 1 and 2. Proof: docs/proofs/bags.md.

    Examples
    --------
    >>> from tacit.bags.losses import LogLoss
    >>> from tacit.bags.protect import LaplaceNoise
    >>> clicks = pa.table({"city": ["a", "b", "a", "a"], "age": [17, 30, 40, 20], "click": [1, 0, 1, 0]})
    >>> exact = curate(clicks, by=["city", ("city", "age")], edges={"age": [18]}, label="click", loss=LogLoss())
    >>> exact.partitions[0].keys["city"].to_pylist(), exact.partitions[0].totals.ravel().tolist()
    (['a', 'b'], [2.0, 0.0])
    >>> print(curate(clicks, by=["city"], label="click", loss=LogLoss(), noise=LaplaceNoise(epsilon=1.0),
    ...              rng=np.random.default_rng(0)))
    2 bags of 1 partition by discrete_laplace: epsilon 1 for one label; seeded, so the noise hides nothing ...
    """
    sets = _feature_sets(by, edges)
    step = public_grid(loss) if grid is None and noise is not None else grid
    curation = Curation(
        measure=Measure(loss=loss, grid=step), noise=noise, unit=unit, sizes=sizes or KeepAll(), partitions=len(sets)
    )
    _check_noise(noise, rng, payment)
    calibrated = curation.calibrate()
    with (engine or DuckDBEngine()).open(table) as rows:
        count = check_labels(rows, label=label, measure=curation.measure)
        grouped = []
        for done, features in enumerate(sets):
            grouped.append(group_rows(rows, features=features, label=label, measure=curation.measure))
            if progress is not None:
                progress(done + 1, len(sets))
        head: dict[str, Any] = {"loss": loss, "label": label, "rows": count, "mechanism": curation.describe(calibrated)}
        if calibrated is None or rng is None:
            parts = tuple(curation.exact(one) for one in grouped)
            return BagRelease(partitions=parts, guarantee=_EXACT, seeded=False, **head)
        ready = [curation.prepare(one) for one in grouped]
        promise = curation.promise(calibrated, rows_per_person)
        if payment is not None:
            payment.charge(promise, _private_column(rows, label), purpose=f"bags by {curation.describe(None)['name']}")
    parts = tuple(curation.hide(one, calibrated, at=p, rng=rng) for p, one in enumerate(ready))
    return BagRelease(partitions=parts, guarantee=promise, seeded=is_seeded(rng), **head)


@dataclass(frozen=True, slots=True, kw_only=True)
class Curation:
    """How grouped rows become what is released; :func:`curate` is its use.

    Examples
    --------
    >>> from tacit.bags.losses import LogLoss
    >>> from tacit.bags.protect.noise import LaplaceNoise
    >>> plan = Curation(measure=Measure(loss=LogLoss(), grid=Grid(step=Fraction(1))), partitions=2,
    ...                 noise=LaplaceNoise(epsilon=1.0), unit=Unit.LABEL, sizes=KeepAll())
    >>> [query.share for query in plan.queries]
    [Fraction(1, 2), Fraction(1, 2)]
    """

    measure: Measure
    noise: TotalsNoise | None
    unit: Unit
    sizes: Sizes
    partitions: int

    def __post_init__(self) -> None:
        if self.unit not in (Unit.LABEL, Unit.RECORD):
            raise InvalidInput(f"unit must be label or record, got {self.unit}")

    @property
    def queries(self) -> list[Query]:
        """What one unit moves: the sums of each partition and, for records, before them its counts."""
        shares = check_shares(None if self.noise is None else self.noise.shares, partitions=self.partitions) or ()
        if self.unit is Unit.LABEL:
            return [Query(moves=self.measure.label_moves, share=share) for share in shares]
        return [
            query
            for share in shares
            for query in (
                Query(moves=((1, 1),), share=share * _COUNT_SHARE),
                Query(moves=self.measure.record_moves, share=share * (1 - _COUNT_SHARE)),
            )
        ]

    def calibrate(self) -> Calibrated | None:
        """Return the noise of every query and the promise of all; None where totals are exact.

        Examples
        --------
        >>> from tacit.bags.losses import LogLoss
        >>> plan = Curation(measure=Measure(loss=LogLoss()), noise=None, unit=Unit.LABEL, sizes=KeepAll(), partitions=1)
        >>> plan.calibrate() is None
        True
        """
        return None if self.noise is None else self.noise.calibrate(self.queries, unit=self.unit)

    def promise(self, calibrated: Calibrated, rows_per_person: int) -> Guarantee:
        """Return the guarantee with what it rests on.

        Examples
        --------
        >>> from tacit.bags.losses import LogLoss
        >>> from tacit.bags.protect.noise import LaplaceNoise
        >>> plan = Curation(measure=Measure(loss=LogLoss(), grid=Grid(step=Fraction(1))), partitions=1,
        ...                 noise=LaplaceNoise(epsilon=1.0), unit=Unit.LABEL, sizes=KeepAll())
        >>> print(plan.promise(plan.calibrate(), 2))
        epsilon 2 for 2 labels of one person
        """
        assumed = (_PUBLIC if self.unit is Unit.LABEL else _DECLARED,)
        stated = replace(calibrated.guarantee, assumptions=assumed)
        return stated.for_group(rows=check_count(rows_per_person, name="rows_per_person"))

    def exact(self, grouped: Grouped) -> Partition:
        """Return the partition as it is, small bags regrouped.

        Examples
        --------
        >>> from tacit.bags.losses import LogLoss
        >>> made = Grouped(features=(Feature("a"),), keys=pa.table({"a": [1]}), counts=np.array([2]),
        ...                sums=np.array([[1.0]]))
        >>> plan = Curation(measure=Measure(loss=LogLoss()), noise=None, unit=Unit.LABEL, sizes=KeepAll(), partitions=1)
        >>> plan.exact(made).totals
        array([[1.]])
        """
        plan = self.sizes.regroup(grouped.counts)
        check_sizes(plan, grouped.counts, self.sizes)
        counts = plan.add(grouped.counts).astype(np.int64)
        return _partition(grouped, plan, counts, plan.add(grouped.sums) * self.measure.step)

    def prepare(self, grouped: Grouped) -> Grouped:
        """Return what noise is added to: for labels small bags are regrouped now, on public counts.

        Examples
        --------
        >>> from tacit.bags.losses import LogLoss
        >>> made = Grouped(features=(Feature("a"),), keys=pa.table({"a": [1]}), counts=np.array([2]),
        ...                sums=np.array([[1.0]]))
        >>> plan = Curation(measure=Measure(loss=LogLoss()), noise=None, unit=Unit.LABEL, sizes=KeepAll(), partitions=1)
        >>> plan.prepare(made).counts
        array([2])
        """
        if self.unit is Unit.RECORD:
            return fill_domain(grouped)
        check_sizes(self.sizes.regroup(grouped.counts), grouped.counts, self.sizes)
        return grouped

    def hide(self, grouped: Grouped, calibrated: Calibrated, *, at: int, rng: np.random.Generator) -> Partition:
        """Return the partition with noise: counts first where they are private, then regrouping, then totals.

        Examples
        --------
        >>> from tacit.bags.losses import LogLoss
        >>> from tacit.bags.protect.noise import LaplaceNoise
        >>> made = Grouped(features=(Feature("a"),), keys=pa.table({"a": [1]}), counts=np.array([2]),
        ...                sums=np.array([[1.0]]))
        >>> plan = Curation(measure=Measure(loss=LogLoss(), grid=Grid(step=Fraction(1))), partitions=1,
        ...                 noise=LaplaceNoise(epsilon=1000.0), unit=Unit.LABEL, sizes=KeepAll())
        >>> plan.hide(made, plan.calibrate(), at=0, rng=np.random.default_rng(0)).totals
        array([[1.]])
        """
        counts: NDArray[np.int64] | NDArray[np.float64] = grouped.counts
        count_variance = 0.0
        if self.unit is Unit.RECORD:
            sampler = calibrated.samplers[2 * at]
            counts = (grouped.counts + sampler.draw(len(grouped.counts), rng=rng)).astype(np.float64)
            count_variance = sampler.variance
        plan = _with_rest(self.sizes, counts) if self.unit is Unit.RECORD else self.sizes.regroup(counts)
        sampler = calibrated.samplers[2 * at + 1 if self.unit is Unit.RECORD else at]
        steps = np.rint(plan.add(grouped.sums)).astype(np.int64)
        steps = steps + sampler.draw(steps.shape, rng=rng)
        step = self.measure.step
        made = _partition(grouped, plan, plan.add(counts).astype(counts.dtype), steps.astype(np.float64) * step)
        return replace(made, variance=sampler.variance * step**2, count_variance=count_variance)

    def describe(self, calibrated: Calibrated | None) -> dict[str, Any]:
        """Return what is done, in public terms.

        Examples
        --------
        >>> from tacit.bags.losses import LogLoss
        >>> Curation(measure=Measure(loss=LogLoss()), noise=None, unit=Unit.LABEL, sizes=KeepAll(),
        ...          partitions=1).describe(None)
        {'name': 'exact_totals', 'sizes': {'rule': 'keep'}}
        """
        made: dict[str, Any] = {"name": "exact_totals" if self.noise is None else self.noise.name}
        if calibrated is not None:
            made |= {
                "scales": [str(sampler.scale) for sampler in calibrated.samplers],
                "shares": [str(query.share) for query in self.queries],
                "step": self.measure.step,
            }
        return made | {"sizes": self.sizes.describe()}


def _feature_sets(
    by: Sequence[str | Feature | Sequence[str | Feature]], edges: Mapping[str, Sequence[float]] | None
) -> tuple[tuple[Feature, ...], ...]:
    given = [by] if isinstance(by, str | Feature) else by
    sets = tuple(as_features(one, edges=edges) for one in given)
    if not sets:
        raise InvalidInput("by must name at least one feature set, got none")
    named = [frozenset(feature.name for feature in one) for one in sets]
    if len(set(named)) < len(named):
        raise InvalidInput("by must name different feature sets, got one of them twice: it would be paid for twice")
    unknown = set(edges or ()) - set().union(*named)
    if unknown:
        raise InvalidInput(f"edges must be for columns in by, got {', '.join(sorted(unknown))}")
    return sets


def _check_noise(noise: TotalsNoise | None, rng: np.random.Generator | None, payment: Payment | None) -> None:
    if noise is not None and rng is None:
        raise InvalidInput("rng must be given with noise; take tacit.privacy.noise.system_rng() for a real release")
    if noise is None and payment is not None:
        raise InvalidInput("payment must come with noise: exact totals have no guarantee that a ledger could charge")


def _with_rest(sizes: Sizes, counts: NDArray[Any]) -> Regrouping:
    """Regroup, with the domain's last bag, of undeclared keys, always among the merged ones."""
    plan = sizes.regroup(counts[:-1])
    if plan.other is not None:
        return replace(plan, target=np.append(plan.target, plan.other))
    return replace(plan, target=np.append(plan.target, plan.bags), bags=plan.bags + 1, other=plan.bags)


def _private_column(rows: ibis.Table, label: str) -> ibis.Table | None:
    # another database keeps no order of rows, so its labels cannot be recognised
    return rows.select(label) if rows.get_backend().name == "duckdb" else None


def _partition(grouped: Grouped, plan: Regrouping, counts: NDArray[Any], totals: NDArray[np.float64]) -> Partition:
    keys = grouped.keys if plan.bags == len(grouped.counts) and plan.other is None else _keys(grouped.keys, plan)
    return Partition(
        features=grouped.features, keys=keys, counts=counts, totals=totals, other=plan.other, dropped=plan.dropped
    )


def _keys(keys: pa.Table, plan: Regrouping) -> pa.Table:
    kept = keys.take(pa.array(plan.kept))
    if plan.other is None:
        return kept
    empty = pa.table({name: pa.nulls(1, keys.schema.field(name).type) for name in keys.column_names})
    return pa.concat_tables([kept, empty]).combine_chunks()
