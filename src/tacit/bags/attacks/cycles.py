"""Cycles of changes that keep every total: from one solution they decide what is too large to search."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, maximum_flow

from tacit.bags.attacks.components import SolvedSystem
from tacit.bags.attacks.system import RowCells
from tacit.privacy.errors import InvalidInput

__all__ = ["SettledCells", "are_disjoint", "coordinates_of", "flow_solution", "movable", "settle"]

_MOST_PARTITIONS = 12

_ALL_SPLITS = 6  # partitions up to which every way to split them in two is tried
_OUTSIDE = 0  # the end of cells that are in no bag of a side
_MOST = 2**31 - 1  # what the flow algorithm counts in

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


def are_disjoint(incidence: csr_array, groups: Ints) -> bool:
    """Return whether no cell is in two bags of one group."""
    bag, cell = incidence.tocoo().coords
    pairs = cell.astype(np.int64) * (groups.max(initial=0) + 1) + groups[bag]
    return len(np.unique(pairs)) == len(pairs)


def coordinates_of(incidence: csr_array, groups: Ints) -> Ints:
    """Return the bag of each cell in each group of disjoint bags, -1 for none."""
    numbers, group = np.unique(groups, return_inverse=True)
    entries = incidence.tocoo()
    bag, cell = entries.coords
    coordinates = np.full((incidence.shape[1], len(numbers)), -1, dtype=np.int64)
    coordinates[cell, group[bag]] = bag
    return coordinates


def movable(coordinates: Ints, *, up: Mask, down: Mask) -> Mask:
    """Return the cells on a cycle of changes: each is then different in another solution.

    Split the partitions in two. A cell is an edge between its bags on one side and its bags on the other; adding one
    along every other edge of a cycle and taking one away along the rest changes no total. With arcs one way where a
    cell can grow and the other way where it can shrink, a cell that can do only one of the two is on such a cycle
    if and only if its ends are strongly connected. For two partitions every change is made of such cycles.
    """
    found = np.zeros(len(coordinates), dtype=np.bool_)
    judged = up != down
    for one, two in _splits(coordinates.shape[1]):
        x, y, nodes = _ends(coordinates[:, one], coordinates[:, two])
        tails = np.concatenate([x[up], y[down]])
        heads = np.concatenate([y[up], x[down]])
        arcs = csr_array((np.ones(len(tails), dtype=np.int8), (tails, heads)), shape=(nodes, nodes))
        strong = connected_components(arcs, directed=True, connection="strong")[1]
        found |= judged & (strong[x] == strong[y])
        if found[judged].all():
            break
    return found


def flow_solution(coordinates: Ints, totals: Ints, *, lower: Ints, upper: Ints) -> Ints | None:
    """Return integers that have the totals of two partitions, by a maximum flow; None if there are none."""
    x, y, nodes = _ends(coordinates[:, [0]], coordinates[:, [1]])
    source, sink = nodes, nodes + 1
    held = coordinates >= 0
    need = np.zeros(nodes, dtype=np.int64)  # positive: what a node of the first side sends
    for side, ends, sign in ((0, x, 1), (1, y, -1)):
        bags, first = np.unique(coordinates[held[:, side], side], return_index=True)
        need[ends[held[:, side]][first]] += sign * totals[bags]
    np.subtract.at(need, x, lower)
    np.add.at(need, y, lower)
    need[_OUTSIDE] = 0
    if not held.all():  # the end that no total holds takes up the difference
        need[_OUTSIDE] = -need.sum()
    width = upper - lower
    sends, takes = np.flatnonzero(need > 0), np.flatnonzero(need < 0)
    if need.sum() or max(int(np.abs(need).sum()), int(width.max(initial=0))) > _MOST:
        return None
    tails = np.concatenate([x, np.full(len(sends), source), takes])
    heads = np.concatenate([y, sends, np.full(len(takes), sink)])
    capacity = np.concatenate([width, need[sends], -need[takes]]).astype(np.int32)
    network = csr_array((capacity, (tails, heads)), shape=(nodes + 2, nodes + 2))
    flow = maximum_flow(network, source, sink)
    if int(flow.flow_value) != int(need[sends].sum()):
        return None
    return np.asarray(lower + np.asarray(csr_array(flow.flow)[x, y]).ravel(), dtype=np.int64)


def _splits(partitions: int) -> Iterator[tuple[list[int], list[int]]]:
    everything = range(partitions)
    sizes = range(1, partitions // 2 + 1) if partitions <= _ALL_SPLITS else [1]
    for size in sizes:
        for one in combinations(everything, size):
            yield list(one), [p for p in everything if p not in one]


def _ends(first: Ints, second: Ints) -> tuple[Ints, Ints, int]:
    """Number the two ends of each cell; cells in no bag of a side share one end, the same for both sides."""
    x = _numbered(first) + _OUTSIDE + 1
    y = _numbered(second) + x.max(initial=_OUTSIDE) + 1
    x[(first < 0).all(axis=1)] = _OUTSIDE
    y[(second < 0).all(axis=1)] = _OUTSIDE
    return x, y, int(max(x.max(initial=0), y.max(initial=0))) + 1


def _numbered(rows: Ints) -> Ints:
    """The same number for equal rows: column by column, as sorting whole rows is slow."""
    key = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        key = np.unique(key * (column.max(initial=0) + 2) + column + 1, return_inverse=True)[1].ravel()
    return key
