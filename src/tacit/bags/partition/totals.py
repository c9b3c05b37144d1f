"""Label totals of bags as learners and attackers read them: of partitions by features, or of random bags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit.bags.losses import SemilinearLoss
from tacit.bags.partition.bags import Partition
from tacit.bags.partition.random_bags import RandomBags
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import AnyGuarantee
from tacit.privacy.words import counted

__all__ = ["BagTotals"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BagTotals:
    """Label totals of bags, and what is guaranteed about them: partitions by features, or random bags.

    Parameters
    ----------
    partitions
        One for each feature set; empty if bags are random.
    random
        The random bags; None if there are partitions.
    loss
        The loss whose T(y) was added up.
    guarantee
        The guarantee for the whole release, or an explicit none with its reason.
    seeded
        Whether noise or bags came from a seeded generator.
    label
        The private column's name: who learns from the release must leave that column out.
    rows
        How many rows the table has, None if that is not public.
    mechanism
        What was done, in public terms: its name and its public parameters.
    """

    loss: SemilinearLoss
    guarantee: AnyGuarantee
    seeded: bool
    label: str
    mechanism: Mapping[str, Any]
    partitions: tuple[Partition, ...] = ()
    random: RandomBags | None = None
    rows: int | None = None

    def __post_init__(self) -> None:
        if bool(self.partitions) == (self.random is not None):
            raise InvalidInput("a release of bags must have partitions or random bags, and not both")
        parts = self.partitions or (self.random,)
        if any(part is not None and part.targets != self.loss.targets for part in parts):
            raise InvalidInput(
                f"must have {self.loss.targets} columns, one for each target of the loss", field="totals"
            )

    @property
    def bags(self) -> int:
        """How many bags there are in all."""
        return sum(map(len, self.partitions)) if self.random is None else len(self.random)

    def __str__(self) -> str:
        kind = "random bags" if self.random else counted(len(self.partitions), "partition")
        warning = "; seeded, so the noise hides nothing from anyone who knows the seed" if self.seeded else ""
        return f"{counted(self.bags, 'bag')} of {kind} by {self.mechanism['name']}: {self.guarantee}{warning}"
