"""Decide what was too large to search: by cycles of changes to one known solution."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.bags.attacks.components import SolvedSystem
from tacit.bags.attacks.cycles import coordinates_of, flow_solution, movable
from tacit.bags.attacks.system import RowCells
from tacit.privacy.errors import InvalidInput

__all__ = ["SettledCells", "settle"]

_MOST_PARTITIONS = 12

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


class SettledCells(NamedTuple):
    """Cells proved to have several labelings, and cells of two partitions whose total is proved to be ``value``."""

    open: Mask
    fixed: Mask
    value: Ints


def settle(
    cells: RowCells, solved: SolvedSystem, totals: Ints, *, groups: Ints, most: int, witness: ArrayLike | None
) -> SettledCells:
    """Settle undecided cells by cycles through a solution: the witness, or for two partitions one that a flow finds.

    Sound always. For two partitions complete too: what is on no cycle is fixed.
    """
    nothing = np.zeros(len(cells.sizes), dtype=np.bool_)
    counts = None if witness is None else _counts(cells, totals, witness, most=most)
    two = totals.shape[1] == 1 and len(np.unique(groups)) == 2
    few = len(np.unique(groups)) <= _MOST_PARTITIONS
    if not few or (counts is None and not two):
        return SettledCells(nothing, nothing, np.zeros(len(nothing), dtype=np.int64))
    coordinates = coordinates_of(cells.incidence, groups)
    if counts is None:
        found = flow_solution(coordinates, totals[:, 0], lower=solved.lower, upper=solved.upper)
        if found is None:
            return SettledCells(nothing, nothing, np.zeros(len(nothing), dtype=np.int64))
        counts = np.stack([cells.sizes * most - found, found])
    inside = (cells.sizes > 1) & ~(counts == counts.sum(axis=0)).any(axis=0)
    moving = nothing.copy()
    for one, other in combinations(range(len(counts)), 2):
        moving |= movable(coordinates, up=counts[one] > 0, down=counts[other] > 0)
    at_end = (counts[0] == 0) | (counts[1] == 0)
    fixed = ~moving & at_end if two else nothing
    return SettledCells(moving | inside, fixed, counts[-1])


def _counts(cells: RowCells, totals: Ints, witness: ArrayLike, *, most: int) -> Ints:
    """The count of each class in each cell; for one target what is missing to the greatest total, and the total."""
    labels = np.asarray(witness, dtype=np.int64)
    if labels.shape != cells.of_row.shape:
        raise InvalidInput(
            f"must be one label for each of {len(cells.of_row)} rows, got {labels.shape}", field="witness"
        )
    K, C = totals.shape[1], len(cells.sizes)
    if K == 1:
        held = np.bincount(cells.of_row, weights=labels, minlength=C).astype(np.int64)
        counts = np.stack([cells.sizes * most - held, held])
    else:
        counts = np.stack([np.bincount(cells.of_row[labels == k], minlength=C) for k in range(K)])
    of_targets = counts[1:] if K == 1 else counts
    if not np.array_equal(cells.incidence @ of_targets.T, totals):
        raise InvalidInput(
            "must have the published totals, got others: give the labels they were made from", field="witness"
        )
    return counts.astype(np.int64)
