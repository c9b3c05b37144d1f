"""Fit crosses and trees to bag totals on NumPy: the crosses, then trees on what is left, then the crosses again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.bags.learners.cells import PartCells
from tacit.bags.learners.crosses import CrossProblem, CrossSolver, sum_by_cell
from tacit.bags.learners.penalty import Penalty
from tacit.bags.learners.training import AdditiveFit
from tacit.bags.losses import SemilinearLoss
from tacit.bags.partition import Partition
from tacit.bags.partition.bags import read_columns
from tacit.privacy.edge import Progress
from tacit.privacy.errors import InvalidInput

if TYPE_CHECKING:
    from tacit.bags.learners.forest import ForestGrower

__all__ = [
    "CoreModel",
    "PartOutput",
    "WeightTable",
    "assign_cells",
    "fit_core",
    "overall_total",
    "part_penalty",
    "reachable_total",
    "typical_curvature",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class PartOutput(Protocol):
    """What a fitted part adds to f."""

    def predict(self, rows: pa.Table, /) -> Floats:
        """Return the part's output on rows, (rows, targets)."""


@dataclass(frozen=True, slots=True, eq=False)
class WeightTable:
    """A weight for each cell of a part; 0 on values that it has no total for."""

    domain: Partition
    weights: Floats

    def predict(self, rows: pa.Table, /) -> Floats:
        """Return the weight of each row's cell."""
        return np.asarray(_with_zero(self.weights)[self.domain.assign(rows)])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CoreModel:
    """A fitted sum of tables and forests."""

    intercept: Floats
    outputs: tuple[PartOutput, ...]
    steps: int

    def predict(self, rows: pa.Table) -> Floats:
        """Return f of each row."""
        f = np.broadcast_to(self.intercept, (rows.num_rows, len(self.intercept)))
        return sum((output.predict(rows) for output in self.outputs), start=f)


def assign_cells(cells: Sequence[PartCells], partitions: Sequence[Partition], rows: pa.Table) -> Ints:
    """Return (rows, parts): the cell of each row in each part, after a check that the bags hold these rows."""
    bags = {}
    for source in {one.source for one in cells}:
        bags[source] = partitions[source].assign(rows)
        inside = bags[source][bags[source] >= 0]
        partitions[source].check_rows(np.bincount(inside, minlength=len(partitions[source])))
    return np.stack([one.of_bags(bags[one.source]) for one in cells], axis=1)


def overall_total(partitions: Sequence[Partition], covered: Sequence[int], rows: int) -> Floats:
    """Return the total of T(y) over all rows: each partition's own total, weighted by its inverse noise variance.

    A partition that lost its small bags speaks for the rows it has kept; its total is scaled to all rows.
    """
    scale = rows / np.maximum(np.asarray(covered, dtype=np.float64), 1)
    totals = np.stack([partition.totals.sum(axis=0) for partition in partitions]) * scale[:, None]
    variances = np.array([max(partition.variance * len(partition), 0.0) for partition in partitions]) * scale**2
    # where totals are exact, those of whole partitions are taken before scaled ones
    lost = np.asarray([count < rows for count in covered])
    weights = 1 / (variances + 1e-12 + np.where(lost, np.sum(totals**2) + 1.0, 0.0))
    return np.asarray(weights @ totals / weights.sum())


def reachable_total(loss: SemilinearLoss, total: Floats, rows: float) -> Floats:
    """Return the total that predictions can have: noise leaves the range, and the classes' totals miss the rows.

    The intercept is fitted to it without a penalty: toward any other total it would run off without end.
    """
    return np.asarray(rows * loss.mean(loss.link((total / rows)[None, :]))[0])


def typical_curvature(loss: SemilinearLoss, total: Floats, rows: float) -> float:
    """Return the loss's second derivative at the overall mean, averaged over targets."""
    return float(loss.curvature(loss.link((total / rows)[None, :])).mean())


def part_penalty(
    penalty: Penalty, cells: PartCells, rows: Floats, *, loss: SemilinearLoss, total: Floats, of: float
) -> Penalty:
    """Return the penalty as it fits one part, from its cells' totals and rows."""
    gaps = cells.domain.totals - rows[:, None] * (total / of)
    return penalty.fitted(typical_curvature(loss, total, of) * rows, cells.noise, gaps)


def fit_core(solver: CrossSolver, given: AdditiveFit) -> CoreModel:
    """Fit all parts."""
    cells, loss = given.cells, given.loss
    networks = [one.part for one in cells if one.part.needs_torch]
    if networks:
        raise InvalidInput(f"part {networks[0]} is a network: solver must be BatchTraining(), got {solver}")
    rows = read_columns(given.features, sorted({name for one in given.partitions for name in one.columns}))
    assigned = assign_cells(cells, given.partitions, rows)
    covered = [int((column >= 0).sum()) for column in assigned.T]
    released = overall_total([given.partitions[one.source] for one in cells], covered, rows.num_rows)
    distinct, weights = _compress(assigned)
    total = reachable_total(loss, released, weights.sum())
    growers = {j: grower for j, one in enumerate(cells) if (grower := one.part.grower(one)) is not None}
    crosses = [j for j in range(len(cells)) if j not in growers]
    penalties = [
        part_penalty(given.penalty, one, _rows_of(cell, weights, len(one)), loss=loss, total=total, of=weights.sum())
        for one, cell in zip(cells, distinct.T, strict=True)
    ]
    typical = typical_curvature(loss, total, weights.sum())
    problem = CrossProblem(
        loss=loss,
        cells=distinct[:, crosses],
        weights=weights,
        totals=[cells[j].domain.totals for j in crosses],
        total=total,
        strengths=[
            penalties[j].strengths(typical * _rows_of(distinct[:, j], weights, len(cells[j])), cells[j].noise)
            for j in crosses
        ],
    )
    start = np.zeros(problem.size)
    start[: loss.targets] = loss.link((total / weights.sum())[None, :])[0]
    parameters, steps = solver.solve(problem, start)
    if growers:
        growing = {j: (grower, distinct[:, j], penalties[j]) for j, grower in growers.items()}
        problem = replace(problem, offset=_boost(problem, growing, parameters, progress=given.progress))
        parameters, more = solver.solve(problem, parameters)
        steps += more
    intercept, tables = problem.split(parameters)
    fitted: dict[int, PartOutput] = {j: grower.forest(targets=loss.targets) for j, grower in growers.items()}
    fitted |= {j: WeightTable(cells[j].domain, table) for j, table in zip(crosses, tables, strict=True)}
    return CoreModel(intercept=intercept, outputs=tuple(fitted[j] for j in range(len(cells))), steps=steps)


def _boost(
    problem: CrossProblem,
    growers: Mapping[int, tuple[ForestGrower, Ints, Penalty]],
    parameters: Floats,
    *,
    progress: Progress | None,
) -> Floats:
    """Grow the trees of all parts in turn; return their sum on each row."""
    f = problem.predict(parameters)
    offset = np.zeros_like(f)
    turns = range(max(grower.part.rounds for grower, _, _ in growers.values()))
    plan = [given for turn in turns for given in growers.values() if turn < given[0].part.rounds]
    for done, (grower, cell, penalty) in enumerate(plan, start=1):
        count = len(grower.cells)
        steps = grower.grow(
            rows=_rows_of(cell, problem.weights, count),
            gradient=_sum(problem, problem.loss.mean(f), cell, count) - grower.cells.domain.totals,
            curvature=_sum(problem, problem.loss.curvature(f), cell, count),
            penalty=penalty,
        )
        step = _with_zero(steps)[cell]
        f += step
        offset += step
        if progress is not None:
            progress(done, len(plan))
    return offset


def _with_zero(values: Floats) -> Floats:
    """Values by cell, and 0 as the last: that of cell -1."""
    return np.vstack([values, np.zeros((1, values.shape[1]))])


def _sum(problem: CrossProblem, values: Floats, cell: Ints, cells: int) -> Floats:
    return sum_by_cell(problem.weights[:, None] * values, cell, cells)


def _rows_of(cell: Ints, weights: Floats, cells: int) -> Floats:
    return np.bincount(cell + 1, weights, minlength=cells + 1)[1:].astype(np.float64)


def _compress(assigned: Ints) -> tuple[Ints, Floats]:
    """Rows with the same cells in all parts, as one row each, and how many there are."""
    sizes = [int(column.max(initial=0)) + 2 for column in assigned.T]
    if np.prod(np.asarray(sizes, dtype=np.float64)) >= 2.0**62:
        return assigned, np.ones(len(assigned))
    code = np.zeros(len(assigned), dtype=np.int64)
    for column, size in zip(assigned.T, sizes, strict=True):
        code = code * size + column + 1
    _, first, count = np.unique(code, return_index=True, return_counts=True)
    return assigned[first], count.astype(np.float64)
