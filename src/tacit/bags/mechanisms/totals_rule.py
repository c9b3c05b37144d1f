"""How grouped rows become what is released: what one unit moves, the noise for it, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.bags.mechanisms.domain import fill_domain
from tacit.bags.mechanisms.engine import GroupedRows
from tacit.bags.mechanisms.measure import GridStatistic
from tacit.bags.mechanisms.noise import CalibratedNoise, TotalsNoise, TotalsQuery
from tacit.bags.mechanisms.sizes import BagRegrouping, SizeRule
from tacit.bags.partition import BagTotals, Partition
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import AnyGuarantee, NoGuarantee, Unit
from tacit.privacy.noise import is_seeded

__all__ = ["TotalsRule"]

_EXACT = NoGuarantee(reason="exact totals of bags, and a bag of one row is that row's label")
_PUBLIC = "the features of all rows are public, and so are the keys and counts of bags"
_DECLARED = "the number of rows, whether a column holds numbers or text, and the declared values and edges are public"
_COUNT_SHARE = Fraction(1, 2)  # of a partition's budget, where counts are private too


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalsRule:
    """How grouped rows become what is released."""

    measure: GridStatistic
    noise: TotalsNoise | None
    unit: Unit
    sizes: SizeRule
    partitions: int

    def __post_init__(self) -> None:
        if self.unit not in (Unit.LABEL, Unit.RECORD):
            raise InvalidInput(f"must be label or record, got {self.unit}", field="unit")

    @property
    def queries(self) -> list[TotalsQuery]:
        """What one unit moves: the sums of each partition and, for records, before them its counts."""
        share = Fraction(1, self.partitions)
        if self.unit is Unit.LABEL:
            return [TotalsQuery(moves=self.measure.label_moves, share=share)] * self.partitions
        counts = TotalsQuery(moves=((1, 1),), share=share * _COUNT_SHARE)
        sums = TotalsQuery(moves=self.measure.record_moves, share=share * (1 - _COUNT_SHARE))
        return [counts, sums] * self.partitions

    def calibrate(self) -> CalibratedNoise | None:
        """Return the noise of every query and the guarantee of all; None if totals are exact."""
        return None if self.noise is None else _calibrate(self.noise, tuple(self.queries), self.unit)

    def guarantee(self, rows_per_person: int = 1) -> AnyGuarantee:
        """Return the guarantee for all rows of one person, with what it rests on; none for exact totals."""
        calibrated = self.calibrate()
        if calibrated is None:
            return _EXACT
        assumed = _PUBLIC if self.unit is Unit.LABEL else _DECLARED
        return replace(calibrated.for_person(rows_per_person), assumptions=(assumed,))

    def prepare(self, grouped: GroupedRows) -> GroupedRows:
        """Return what noise is added to: for records all declared bags; public counts must leave a bag."""
        if self.unit is Unit.RECORD and self.noise is not None:
            return fill_domain(grouped)
        self.sizes.check(grouped.counts)
        return grouped

    def release(
        self,
        prepared: Sequence[GroupedRows],
        *,
        guarantee: AnyGuarantee,
        label: str,
        rows: int,
        rng: np.random.Generator | None,
    ) -> BagTotals:
        """Return what is released of all partitions."""
        calibrated = self.calibrate()
        if calibrated is None or rng is None:
            partitions, seeded = tuple(map(self._exact, prepared)), False
        else:
            partitions = tuple(self.hide(one, calibrated, at=p, rng=rng) for p, one in enumerate(prepared))
            seeded = is_seeded(rng)
        return BagTotals(
            partitions=partitions,
            loss=self.measure.loss,
            guarantee=guarantee,
            seeded=seeded,
            label=label,
            rows=rows,
            mechanism=self.describe(),
        )

    def _exact(self, grouped: GroupedRows) -> Partition:
        plan = self.sizes.regroup(grouped.counts)
        counts = plan.add(grouped.counts).astype(np.int64)
        return _partition(grouped, plan, counts, plan.add(grouped.sums) * self.measure.step)

    def hide(
        self, grouped: GroupedRows, calibrated: CalibratedNoise, *, at: int, rng: np.random.Generator
    ) -> Partition:
        """Return the partition with noise: counts first where they are private, then regrouping, then totals."""
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

    def describe(self) -> dict[str, Any]:
        """Return what is done, in public terms."""
        calibrated = self.calibrate()
        made: dict[str, Any] = {"name": "exact_totals" if self.noise is None else self.noise.name}
        if calibrated is not None:
            made |= {
                "scales": [str(sampler.scale) for sampler in calibrated.samplers],
                "shares": [str(query.share) for query in self.queries],
                "step": self.measure.step,
            }
        return made | {"sizes": self.sizes.describe()}


@lru_cache(maxsize=16)  # a Gaussian scale is searched for: once per plan
def _calibrate(noise: TotalsNoise, queries: tuple[TotalsQuery, ...], unit: Unit) -> CalibratedNoise:
    return noise.calibrate(queries, unit=unit)


def _with_rest(sizes: SizeRule, counts: NDArray[Any]) -> BagRegrouping:
    """Regroup, with the domain's last bag, of undeclared keys, always among the merged ones."""
    plan = sizes.regroup(counts[:-1])
    if plan.other is not None:
        return replace(plan, target=np.append(plan.target, plan.other))
    return replace(plan, target=np.append(plan.target, plan.bags), bags=plan.bags + 1, other=plan.bags)


def _partition(
    grouped: GroupedRows, plan: BagRegrouping, counts: NDArray[Any], totals: NDArray[np.float64]
) -> Partition:
    keys = grouped.keys if plan.bags == len(grouped.counts) and plan.other is None else _keys(grouped.keys, plan)
    return Partition(
        features=grouped.features, keys=keys, counts=counts, totals=totals, other=plan.other, dropped=plan.dropped
    )


def _keys(keys: pa.Table, plan: BagRegrouping) -> pa.Table:
    kept = keys.take(pa.array(plan.kept))
    if plan.other is None:
        return kept
    empty = pa.table({name: pa.nulls(1, keys.schema.field(name).type) for name in keys.column_names})
    return pa.concat_tables([kept, empty]).combine_chunks()
