"""A release of bags: a folder with one Parquet file per partition, or one of random bags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.bags.losses import SemilinearLoss
from tacit.bags.mechanisms.encoding import OCCURRING, LabelEncoding, loss_of_plan
from tacit.bags.mechanisms.preparation import PrivateRows
from tacit.bags.partition import BagTotals
from tacit.bags.partition.tables import partition_of, partition_table, random_of, random_table
from tacit.bags.plan import Plan
from tacit.data import open_table, read_rows
from tacit.data.classes import LISTED
from tacit.data.names import check_present
from tacit.data.persons import limit_rows
from tacit.data.view import TableView
from tacit.privacy.errors import InvalidInput, InvalidRelease
from tacit.privacy.guarantee import AnyGuarantee, Guarantee
from tacit.privacy.loss.files import read_fraction
from tacit.privacy.releases import Release as BaseRelease
from tacit.privacy.releases import ReleaseHeader, ReleaseMember, TableMember
from tacit.privacy.words import counted

if TYPE_CHECKING:
    import ibis

__all__ = ["Release", "UsedRows", "guarantee_of"]

_RANDOM = "random"
_NEAR = 0.01


class UsedRows(NamedTuple):
    """The rows of a table that bags were made from, their numbers where that is not all, and how many rows it has."""

    table: TableView | ibis.Table
    numbers: NDArray[np.int64] | None
    total: int


def guarantee_of(plan: Plan, loss: SemilinearLoss, *, classes: Sequence[Any] | None) -> AnyGuarantee:
    """Return what holds for totals of labels; what is computed from or refused of the labels is public."""
    kept = plan.mechanism.guarantee(plan, loss)
    if classes is None or not isinstance(kept, Guarantee):
        return kept
    return replace(kept, assumptions=(*kept.assumptions, OCCURRING if plan.classes is None else LISTED))


@dataclass(frozen=True, kw_only=True, eq=False)
class Release(BaseRelease):
    """Label totals of bags, with the plan and the guarantee they were made under."""

    plan_type: ClassVar[type[Plan]] = Plan
    member_types: ClassVar[tuple[type[ReleaseMember], ...]] = (TableMember,)

    @classmethod
    def of_totals(cls, made: BagTotals, plan: Plan, *, guarantee: AnyGuarantee, rows: PrivateRows) -> Release:
        """Return the release of totals that were drawn for a plan."""
        tables = [partition_table(part) for part in made.partitions]
        members = {f"partition-{i}": TableMember(table) for i, table in enumerate(tables)}
        if made.random is not None:
            members[_RANDOM] = TableMember(random_table(made.random))
        settled = {
            "classes": None if rows.encoding.classes is None else list(rows.encoding.classes),
            "rows": rows.count(),
            "person_seed": rows.person_seed,
            "partitions": [part.describe() for part in made.partitions],
            "random": None if made.random is None else made.random.describe(),
            "mechanism": dict(made.mechanism),
        }
        header = ReleaseHeader(
            surface=Plan.surface, plan=plan.to_json(), settled=settled, guarantee=guarantee, seeded=made.seeded
        )
        return cls(header=header, members=members)

    @property
    def asked(self) -> Plan:
        """The plan; every release of bags has one."""
        if not isinstance(self.plan, Plan):
            raise InvalidRelease("a release of bags must have a plan")
        return self.plan

    @cached_property
    def totals(self) -> BagTotals:
        """The bags, as learners and attackers read them."""
        settled = self.settled
        parts = [partition_of(self._table(f"partition-{i}"), one) for i, one in enumerate(settled["partitions"])]
        drawn = settled["random"]
        return BagTotals(
            partitions=tuple(parts),
            random=None if drawn is None else random_of(self._table(_RANDOM), drawn),
            loss=loss_of_plan(self.asked, self.encoding.classes),
            guarantee=self.guarantee,
            seeded=self.seeded,
            label=self.asked.label,
            rows=int(settled["rows"]),
            mechanism=settled["mechanism"],
        )

    @cached_property
    def encoding(self) -> LabelEncoding:
        """How labels became the numbers that were added up."""
        classes = self.settled["classes"]
        return LabelEncoding(label=self.asked.label, classes=None if classes is None else tuple(classes))

    def used_rows(self, data: object, *, argument: str = "data") -> UsedRows:
        """Return the rows of a table that the bags were made from, by the public seed where persons have too many."""
        rows, person = open_table(data), self.asked.person
        if person is None:
            return UsedRows(rows, None, int(self.settled["rows"]))
        read = read_rows(rows)
        check_present(person, read.column_names, argument=f"{argument}'s person")
        limit, seed = self.asked.rows_per_person, self.settled["person_seed"]
        used = limit_rows(read[person], rows=limit, seed=seed)
        if len(used) != self.settled["rows"]:
            raise InvalidInput("must have the rows of the private table, whose persons have other rows", field=argument)
        return UsedRows(open_table(read.take(pa.array(used))), used, read.num_rows)

    def check(self) -> AnyGuarantee:
        """Return what the plan's mechanism keeps, or raise if members do not fit the header."""
        loss = self.totals.loss
        kept = guarantee_of(self.asked, loss, classes=self.encoding.classes)
        _check_noise(self.settled["mechanism"], self.asked.mechanism.describe(self.asked, loss))
        return kept

    def notes(self) -> list[str]:
        """Return a line per partition: how many bags of which sizes, and the noise."""
        lines = [_describe(one, self.totals.rows or 0) for one in self.partitions()]
        drawn = self.totals.random
        if drawn is not None:
            bags = f"{counted(len(drawn), 'random bag')} of {counted(drawn.size, 'row')}"
            lines.append(f"  {bags}, at most {drawn.most_joins} per row")
        lines += self._notes_on_persons()
        if not isinstance(self.guarantee, Guarantee):
            lines.append("Exact totals can determine labels: tacit bags attack finds them.")
        return lines

    def partitions(self) -> list[dict[str, Any]]:
        """Return the columns, sizes and noise of each partition as plain JSON."""
        return [
            {
                "columns": list(part.columns),
                "bags": len(part),
                "smallest": int(part.counts.min()),
                "largest": int(part.counts.max()),
                "left_out": max(0, (self.totals.rows or 0) - int(part.counts.sum())),
                "noise_deviation": part.variance**0.5,
            }
            for part in self.totals.partitions
        ]

    def to_json(self) -> dict[str, Any]:
        """Return the header, what was charged, and how many bags of which sizes there are."""
        return {**super().to_json(), "bags": self.totals.bags, "partitions": self.partitions()}

    def _table(self, name: str) -> pa.Table:
        member = self.members.get(name)
        if not isinstance(member, TableMember):
            raise InvalidRelease(f"the release has lost {name}.parquet, or never had it")
        return member.table


def _check_noise(stated: Mapping[str, Any], planned: Mapping[str, Any]) -> None:
    """Raise unless a header states the noise of its plan; Gaussian scales are found by a search, so nearly."""
    scales, expected = stated.get("scales", []), planned.get("scales", [])
    same = len(scales) == len(expected) and all(
        stated.get(name) == planned[name] for name in planned if name != "scales"
    )
    ratios = (read_fraction(one) / read_fraction(other) for one, other in zip(scales, expected, strict=True))
    if not same or not all(abs(ratio - 1) < _NEAR for ratio in ratios):
        raise InvalidRelease("the header states other noise than its plan gives")


def _describe(part: Mapping[str, Any], rows: int) -> str:
    left_out = f"; {part['left_out']:,} of {rows:,} rows are in smaller bags, left out" if part["left_out"] else ""
    noise = f"; noise of standard deviation {part['noise_deviation']:.2g} per total" if part["noise_deviation"] else ""
    sizes = f"{counted(part['bags'], 'bag')} of {part['smallest']:,} to {part['largest']:,} rows"
    return f"  by {', '.join(part['columns'])}: {sizes}{left_out}{noise}"
