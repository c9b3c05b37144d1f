"""What a part learns from: the bags of one partition, brought down to the part's own columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.bags.learners.parts import ModelPart
from tacit.bags.partition import Partition
from tacit.bags.partition.bags import number_keys
from tacit.privacy.errors import InvalidInput

__all__ = ["PartCells", "cells_of", "choose_partition", "project"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartCells:
    """The finite domain of a part, with the label total of each of its points."""

    part: ModelPart
    source: int  # the number of the partition it learns from
    domain: Partition  # the partition's bags added up to the part's columns; its ``counts`` are the release's
    cell_of_bag: NDArray[np.int64]  # for each bag of the partition its cell in ``domain``
    # how many bags were added up for each cell: a cell's total carries that many times the noise
    bags: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.domain)

    @property
    def noise(self) -> NDArray[np.float64]:
        """The variance of the noise in each cell's total."""
        return np.asarray(self.bags * self.domain.variance, dtype=np.float64)

    def of_bags(self, bag: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cell of each row from its bag; -1 where it is in none."""
        return np.where(bag < 0, -1, self.cell_of_bag[bag])


def choose_partition(part: ModelPart, partitions: Sequence[Partition]) -> int:
    """Return the number of the partition that a part learns from: Theorem 1's phi(j).

    Any partition whose columns contain the part's will do without noise; with noise the one with the fewest bags
    carries the least.
    """
    names = ", ".join(f"({', '.join(partition.columns)})" for partition in partitions)
    if part.by is not None:
        named = [i for i, partition in enumerate(partitions) if set(partition.columns) == set(part.by)]
        if not named:
            raise InvalidInput(f"part {part} is to learn from the partition ({', '.join(part.by)}), got only {names}")
        if not partitions[named[0]].covers(part.columns):
            lacking = ", ".join(sorted(set(part.columns) - set(part.by)))
            raise InvalidInput(
                f"part {part} cannot learn from the partition ({', '.join(part.by)}): its bags are not keyed by "
                f"{lacking}, so they mix rows on which the part differs"
            )
        return named[0]
    fitting = [i for i, partition in enumerate(partitions) if partition.covers(part.columns)]
    if not fitting:
        raise InvalidInput(
            f"part {part} needs a partition with its columns, got the partitions {names}: release one by "
            f"{', '.join(part.columns)}, or drop the part"
        )
    return min(fitting, key=lambda i: (len(partitions[i].columns) > len(part.columns), len(partitions[i])))


def cells_of(parts: Sequence[ModelPart], partitions: Sequence[Partition]) -> list[PartCells]:
    """Return what each part learns from, or refuse the first part that no partition covers."""
    sources = [choose_partition(part, partitions) for part in parts]
    made = []
    for part, source in zip(parts, sources, strict=True):
        domain, cell_of_bag = project(partitions[source], part.columns)
        bags = np.bincount(cell_of_bag, minlength=len(domain))
        made.append(PartCells(part=part, source=source, domain=domain, cell_of_bag=cell_of_bag, bags=bags))
    return made


def project(partition: Partition, columns: Sequence[str]) -> tuple[Partition, NDArray[np.int64]]:
    """Add a partition's bags up to some of its columns; also return the new bag of each old one.

    The bag of rows that were too few, ``other``, stays a bag of its own: its rows have no common key.
    """
    if tuple(columns) == partition.columns:
        return partition, np.arange(len(partition), dtype=np.int64)
    number = number_keys(partition.keys.select(list(columns)))
    if partition.other is not None:
        number[partition.other] = number.max(initial=0) + 1
    _, first, cell = np.unique(number, return_index=True, return_inverse=True)
    cell = cell.astype(np.int64)
    features = {feature.name: feature for feature in partition.features}
    counts: Any = np.zeros(len(first), dtype=partition.counts.dtype)
    totals = np.zeros((len(first), partition.targets))
    np.add.at(counts, cell, partition.counts)
    np.add.at(totals, cell, partition.totals)
    domain = Partition(
        features=tuple(features[name] for name in columns),
        keys=partition.keys.select(list(columns)).take(pa.array(first)),
        counts=counts,
        totals=totals,
        variance=partition.variance,
        count_variance=partition.count_variance,
        other=None if partition.other is None else int(cell[partition.other]),
    )
    return domain, cell
