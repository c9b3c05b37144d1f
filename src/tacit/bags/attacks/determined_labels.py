"""Labels that are determined by exact totals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, vstack

from tacit.bags.attacks.components import SearchLimits, SolvedSystem, solve
from tacit.bags.attacks.cycles import are_disjoint, settle
from tacit.bags.attacks.propagation import nested_differences
from tacit.bags.attacks.published_totals import read_exact
from tacit.bags.attacks.row_space import combinations
from tacit.bags.attacks.system import RowCells, collapse, system_of
from tacit.bags.partition import BagTotals
from tacit.privacy.edge import Progress
from tacit.privacy.errors import InvalidInput

__all__ = ["DeterminedLabels", "determined", "labels_from_sums", "labels_from_totals"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DeterminedLabels:
    """The labels that are determined by the totals.

    Parameters
    ----------
    labels
        The label of each row, NaN where the totals leave more than one.
    undecided
        Rows for which that could not be found out: their component was too large to search.
    cells
        Groups of rows that are in the same bags.
    components, searched
        Connected components left after propagation, and how many of them were searched to the end.
    """

    labels: Floats
    undecided: NDArray[np.bool_]
    cells: int
    components: int
    searched: int

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.labels)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether each row's label is determined."""
        return ~np.isnan(self.labels)

    @property
    def count(self) -> int:
        """How many labels are determined."""
        return int(self.known.sum())

    def to_json(self) -> dict[str, Any]:
        """Return the counts as plain JSON."""
        return {
            "rows": self.rows,
            "determined": self.count,
            "undecided": int(self.undecided.sum()),
            "cells": self.cells,
            "components": self.components,
            "searched": self.searched,
        }

    def __str__(self) -> str:
        known, unknown = self.count, int(self.undecided.sum())
        rest = self.rows - known - unknown
        doubt = f", {unknown:,} in components too large to search stay undecided" if unknown else ""
        verbs = ["is" if number == 1 else "are" for number in (known, rest)]
        return f"{known:,} of {self.rows:,} labels {verbs[0]} determined by the totals, {rest:,} {verbs[1]} not{doubt}"


def determined(
    release: BagTotals | Sequence[BagTotals],
    table: object,
    *,
    whole: bool = False,
    witness: ArrayLike | None = None,
    effort: SearchLimits | None = None,
    progress: Progress = lambda _a, _b: None,
) -> DeterminedLabels:
    """Find the labels that are determined by a release of exact totals and the features.

    Bags of one and bags of equal labels are the obvious cases; then come bags that are the rest of a larger one,
    bounds that bags set on each other, the row space of the membership matrix, and in components that are small enough
    a search of all solutions. Two partitions are decided at any size, by a flow. Sound always; complete wherever no row
    is ``undecided``. Noisy totals determine nothing.

    Parameters
    ----------
    release
        Totals by partitions, or random bags; of several releases of the same rows in the same order, all totals are
        used at once.
    table
        The features of the same rows, in any order for partitions; in the table's order for random bags.
    whole
        For the squared loss with declared bounds: labels are known to be integers. Otherwise only sums and
        differences of its totals are used, in floating point.
    witness
        Labels that have these totals, such as the true ones in an audit. They decide no label: they help to prove that
        others have the same totals, in components too large to search.
    effort
        How large a component is searched.
    progress
        Called with the components done and known so far.

    References
    ----------
    docs/proofs/bags_attack.md.
    """
    every = [release] if isinstance(release, BagTotals) else [*release]
    published, loss = read_exact(every, table), every[0].loss
    lower, upper = loss.bounds
    if not loss.identity_link:
        most = float(upper[0])
    elif whole:
        most = _whole_range(float(lower[0]), float(upper[0]))
        published = published.shifted(-float(lower[0]))
    else:
        return labels_from_sums(published.membership, published.totals)
    low, high = published.whole_bounds()
    found = labels_from_totals(
        published.membership,
        low,
        greatest=high,
        most=int(most) if math.isfinite(most) else int(high.max(initial=0)) + 1,
        groups=published.groups,
        witness=_shifted(witness, float(lower[0])) if len(published.totals) else None,
        effort=effort,
        progress=progress,
    )
    return replace(found, labels=found.labels + float(lower[0])) if whole else found


def labels_from_totals(
    membership: Any,  # noqa: ANN401
    totals: ArrayLike,
    *,
    greatest: ArrayLike | None = None,
    most: int = 1,
    groups: ArrayLike | None = None,
    witness: ArrayLike | None = None,
    effort: SearchLimits | None = None,
    progress: Progress = lambda _a, _b: None,
) -> DeterminedLabels:
    """Find the labels that are determined by totals of 0/1, counted or one-hot labels.

    Parameters
    ----------
    membership
        Rows x bags, 1 where the row is in the bag; dense or sparse.
    totals
        Bags x targets. One target: labels 0, ..., ``most``. Several: the counts of each class.
    greatest
        Where totals are known only to lie in a range: its upper end, and ``totals`` its lower.
    most
        The greatest label, for one target.
    groups
        A number for each bag; bags of one group are disjoint (a partition). Default: each bag by itself.
    witness, effort, progress
        As in :func:`determined`.
    """
    rows = csr_array(membership).astype(np.int64)
    low = _whole(totals, rows.shape[1])
    high = low if greatest is None else _whole(greatest, rows.shape[1])
    cells = collapse(rows)
    group = np.arange(rows.shape[1]) if groups is None else np.asarray(groups, dtype=np.int64)
    if groups is not None and not are_disjoint(cells.incidence, group):
        raise InvalidInput(
            "must put disjoint bags together, got two bags of one group with a row in both", field="groups"
        )
    rest, rest_low, rest_high = nested_differences(cells.incidence, low, high, groups=group)
    wider = RowCells(
        of_row=cells.of_row,
        sizes=cells.sizes,
        incidence=csr_array(vstack([cells.incidence, rest], format="csr")),
    )
    system = system_of(wider, low=np.vstack([low, rest_low]), high=np.vstack([high, rest_high]), most=most)
    solved = solve(system, effort=effort, progress=progress)
    labels = _labels(cells, solved, most=most)
    undecided = np.isnan(labels) & ~solved.decided.reshape(-1, len(cells.sizes)).all(axis=0)
    if undecided.any() and np.array_equal(low, high):
        settled = settle(cells, solved, low, groups=group, most=most, witness=witness)
        labels = np.where(undecided & settled.fixed, settled.value / cells.sizes, labels)
        undecided &= ~settled.open & ~settled.fixed
    return DeterminedLabels(
        labels=labels[cells.of_row],
        undecided=undecided[cells.of_row],
        cells=len(cells.sizes),
        components=solved.components,
        searched=solved.searched,
    )


def labels_from_sums(membership: Any, totals: ArrayLike) -> DeterminedLabels:  # noqa: ANN401
    """Find the labels, any real numbers, that sums and differences of totals give; in floating point.

    A label follows if and only if its row is alone in its cell and the row space of the membership matrix singles it
    out. Rows of components beyond what can be worked through stay undecided.
    """
    rows = csr_array(membership).astype(np.int64)
    cells, sums = collapse(rows), np.asarray(totals, dtype=np.float64)[:, 0]
    of_cell = np.full(len(cells.sizes), np.nan)
    singled, complete = combinations(cells.incidence)
    for cell, multipliers in singled:
        if cells.sizes[cell] == 1:
            of_cell[cell] = multipliers @ sums
    undecided = np.isnan(of_cell) & (cells.sizes == 1) & (not complete)
    return DeterminedLabels(
        labels=of_cell[cells.of_row],
        undecided=undecided[cells.of_row],
        cells=len(cells.sizes),
        components=1,
        searched=int(complete),
    )


def _labels(cells: RowCells, solved: SolvedSystem, *, most: int) -> Floats:
    """The label of each cell's rows, NaN where they may differ or vary."""
    lower, upper = (bound.reshape(-1, len(cells.sizes)) for bound in (solved.lower, solved.upper))
    if len(lower) > 1:
        chosen = lower == cells.sizes
        return np.where(chosen.any(axis=0), chosen.argmax(axis=0), np.nan)
    value, sizes = lower[0], cells.sizes
    same = (value == 0) | (value == sizes * most) | (sizes == 1)
    return np.where((lower[0] == upper[0]) & same, value / sizes, np.nan)


def _whole(totals: ArrayLike, bags: int) -> NDArray[np.int64]:
    numbers = np.asarray(totals, dtype=np.float64)
    if numbers.ndim != 2 or len(numbers) != bags:
        raise InvalidInput(f"must have a row for each of {bags} bags, got shape {numbers.shape}", field="totals")
    whole = np.round(numbers)
    if not np.isfinite(numbers).all() or (np.abs(numbers - whole) > 1e-6).any():
        raise InvalidInput("must be integers: noisy totals determine no label", field="totals")
    return whole.astype(np.int64)


def _whole_range(lower: float, upper: float) -> float:
    if not (math.isfinite(lower) and math.isfinite(upper)) or lower != round(lower) or upper != round(upper):
        raise InvalidInput(f"requires a loss with declared integer bounds, got {lower:g} to {upper:g}", field="whole")
    return upper - lower


def _shifted(witness: ArrayLike | None, lower: float) -> Floats | None:
    return None if witness is None else np.asarray(witness, dtype=np.float64) - lower
