"""A release of labels: one randomized label per row, and what is needed to read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, cast

from tacit.labels.plan import Plan
from tacit.privacy import releases
from tacit.privacy.errors import InvalidRelease
from tacit.privacy.releases import ReleaseMember, TableMember
from tacit.privacy.words import counted

if TYPE_CHECKING:
    import pyarrow as pa

    from tacit.labels.mechanisms import LabelMechanism
    from tacit.labels.mechanisms.evidence import ReleasedEvidence
    from tacit.privacy.guarantee import AnyGuarantee

__all__ = ["PERSON_SEED", "ROWS", "Release"]

ROWS = "rows"
"""The member of the release."""

PERSON_SEED = "person_seed"
"""The header's key of the seed that chose the rows of persons with too many."""

_ORDER = (
    "Warning: the labels follow the order of the rows, so neighbors reveal them at any epsilon. Use --shuffle to "
    "release the rows in random order."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Release(releases.Release):
    """The column ``label``, the columns that the plan names, and for staged labels ``stage`` and ``prior``.

    Parameters
    ----------
    follows_order, copies
        Whether the private labels follow the order of the rows, and the released columns that tell every label, each
        with how: for the owner who made it, and not in the file.
    """

    plan_type: ClassVar[type[Plan]] = Plan
    member_types: ClassVar[tuple[type[ReleaseMember], ...]] = (TableMember,)

    follows_order: bool = False
    copies: Mapping[str, str] = field(default_factory=dict)

    @property
    def asked(self) -> Plan:
        """The plan; a release of labels always has one."""
        if self.plan is None:
            raise InvalidRelease("a release of labels must have a plan")
        return cast(Plan, self.plan)

    @property
    def table(self) -> pa.Table:
        """All rows."""
        return cast(TableMember, self.members[ROWS]).table

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return cast(TableMember, self.members[ROWS]).rows

    @property
    def labels(self) -> pa.ChunkedArray:
        """The released labels; null where a row has none."""
        return self.table["label"]

    @property
    def feature_names(self) -> list[str]:
        """The columns released beside the labels."""
        return [name for name in cast(TableMember, self.members[ROWS]).columns if not self.asked.is_own(name)]

    @cached_property
    def mechanism(self) -> LabelMechanism:
        """The mechanism, rebuilt from the header."""
        plan = self.asked
        return plan.mechanism.rebuild(self.settled, epsilon=plan.epsilon or 0.0, prior=plan.prior)

    @cached_property
    def evidence(self) -> ReleasedEvidence:
        """The likelihood of each row under each label."""
        if self.labels.null_count == self.rows:
            raise InvalidRelease("must have at least one label, got only missing ones", field="release")
        return self.mechanism.evidence(self.table)

    def check(self) -> AnyGuarantee:
        """Return what the mechanism keeps, or raise if the header does not describe it."""
        if not isinstance(self.members.get(ROWS), TableMember):
            raise InvalidRelease("a release of labels must have rows")
        _ = self.mechanism
        return self.asked.guarantee()

    def warnings(self) -> list[str]:
        """Return what its owner must read, and nobody else: released columns that tell every label."""
        return [
            f"{name} is released and tells every label{f', by its {how}' if how else ''}, at any epsilon; leave it out"
            for name, how in self.copies.items()
        ]

    def notes(self) -> list[str]:
        """Return how many rows there are and how many have no label; for persons, how many rows were left out."""
        plan = self.asked
        said = counted(self.rows, "row")
        if plan.missing == "public":
            empty = sum(batch.column("label").null_count for batch in cast(TableMember, self.members[ROWS]).batches())
            said += f", {empty:,} of them without a label"
        if plan.rows_per_person > 1:
            said += f", epsilon {plan.epsilon:g} for one label"
        return [f"{said}.", *self._notes_on_persons(), *([_ORDER] if self.follows_order else [])]
