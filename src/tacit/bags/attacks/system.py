"""Totals of bags as integer equations over cells: rows that are in the same bags, which no total distinguishes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import block_diag, csr_array, eye_array, hstack, vstack

from tacit.privacy.errors import InvalidInput

__all__ = ["RowCells", "TotalsSystem", "collapse", "membership_of", "system_of"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowCells:
    """Rows grouped by the set of bags they are in."""

    of_row: Ints  # the cell of each row
    sizes: Ints  # rows in each cell
    incidence: csr_array  # bags x cells, 1 where the cell's rows are in the bag


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TotalsSystem:
    """Integers x with lower <= x <= upper and low <= incidence x <= high."""

    incidence: csr_array  # a 0/1 matrix, constraints x variables
    # low, high: of each constraint; equal where a total is exact
    low: Ints
    high: Ints
    # lower, upper: of each variable: the number of ones among a cell's rows
    lower: Ints
    upper: Ints
    # ask_low, ask_high, ask_inside: which values of a variable would determine a label: its least, its greatest, or one
    # between
    ask_low: NDArray[np.bool_]
    ask_high: NDArray[np.bool_]
    ask_inside: NDArray[np.bool_]

    def within(self, lower: Ints, upper: Ints) -> TotalsSystem:
        """Return the system with tighter bounds; a least or greatest value that is ruled out is not asked for again."""
        return replace(
            self,
            lower=lower,
            upper=upper,
            ask_low=self.ask_low & (lower == self.lower),
            ask_high=self.ask_high & (upper == self.upper),
        )

    def part(self, variables: Ints, constraints: Ints) -> TotalsSystem:
        """Return these variables and constraints alone; every other variable of a constraint must have one value."""
        rows = self.incidence[constraints]
        inside = rows[:, variables]
        known = rows @ self.lower - inside @ self.lower[variables]
        return TotalsSystem(
            incidence=inside,
            low=self.low[constraints] - known,
            high=self.high[constraints] - known,
            lower=self.lower[variables],
            upper=self.upper[variables],
            ask_low=self.ask_low[variables],
            ask_high=self.ask_high[variables],
            ask_inside=self.ask_inside[variables],
        )


def membership_of(assignments: Sequence[ArrayLike], *, bags: Sequence[int]) -> csr_array:
    """Return the rows x bags matrix of several partitions, their bags numbered one after the other."""
    starts = np.concatenate([[0], np.cumsum(bags)]).astype(np.int64)
    columns = np.stack([np.asarray(bag, dtype=np.int64) for bag in assignments], axis=1)
    present = columns >= 0
    indices = (columns + starts[:-1])[present]
    pointers = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    data = np.ones(len(indices), dtype=np.int64)
    return csr_array((data, indices, pointers), shape=(len(columns), int(starts[-1])))


def collapse(membership: csr_array) -> RowCells:
    """Group rows that are in the same bags.

    Rows of a cell are exchangeable: the totals fix their labels if and only if they fix the cell's total at its least
    or greatest value.
    """
    rows = csr_array(membership)
    rows.sum_duplicates()
    if rows.nnz and (rows.data != 1).any():
        raise InvalidInput("must be 0 or 1: a row is in a bag once or not at all", field="membership")
    degree, key = np.diff(rows.indptr), np.zeros(rows.shape[0], dtype=np.int64)
    # one bag at a time, numbered again each time, so that the numbers stay below rows x bags
    for place in range(int(degree.max(initial=0))):
        longer = np.flatnonzero(degree > place)
        pair = key * (rows.shape[1] + 1)
        pair[longer] += rows.indices[rows.indptr[longer] + place] + 1
        key = np.unique(pair, return_inverse=True)[1]
    _, first, of_row, sizes = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    return RowCells(of_row=of_row, sizes=sizes.astype(np.int64), incidence=csr_array(rows[first].T.tocsr()))


def system_of(cells: RowCells, *, low: ArrayLike, high: ArrayLike, most: int) -> TotalsSystem:
    """Return the equations of label totals.

    One target: labels 0, ..., ``most``, a variable a cell. K targets: one-hot labels, a variable for each class of a
    cell, and the classes of a cell add up to its size.
    """
    least, greatest = np.asarray(low, dtype=np.int64), np.asarray(high, dtype=np.int64)
    sizes, K = cells.sizes, least.shape[1]
    one_hot = K > 1
    upper = np.tile(sizes, K) if one_hot else sizes * most
    incidence = cells.incidence
    low_of, high_of = least.T.ravel(), greatest.T.ravel()
    if one_hot:
        same_cell = hstack([eye_array(len(sizes), dtype=np.int64)] * K)
        incidence = csr_array(vstack([block_diag([cells.incidence] * K), same_cell], format="csr"))
        low_of, high_of = np.concatenate([low_of, sizes]), np.concatenate([high_of, sizes])
    return TotalsSystem(
        incidence=incidence,
        low=low_of,
        high=high_of,
        lower=np.zeros(len(upper), dtype=np.int64),
        upper=upper,
        ask_low=np.full(len(upper), not one_hot),
        ask_high=np.ones(len(upper), dtype=np.bool_),
        ask_inside=(upper > 1) & (np.tile(sizes, K) == 1) & (not one_hot),
    )
