"""Fit crosses and trees to bag totals on NumPy: the crosses, then trees on what is left, then the crosses again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.bags.learners.cells import PartCells
from tacit.bags.learners.crosses import CrossProblem, CrossSolver, sum_by_cell
from tacit.bags.learners.forest import Forest, GrownTree, codes_of_cells, columns_of, grow
from tacit.bags.learners.parts import Tree
from tacit.bags.learners.penalty import Penalty
from tacit.bags.losses import SemilinearLoss
from tacit.bags.partition import Partition
from tacit.privacy.edge import Progress
from tacit.privacy.errors import InvalidInput

__all__ = [
    "CoreModel",
    "assign_cells",
    "fit_core",
    "overall_total",
    "part_penalty",
    "reachable_total",
    "typical_curvature",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CoreModel:
    """A fitted sum of tables and forests."""

    intercept: Floats
    cells: tuple[PartCells, ...]
    outputs: tuple[Floats | Forest, ...]
    steps: int

    def predict(self, rows: pa.Table) -> Floats:
        """Return f of each row; a part is 0 on values that it has no total for."""
        f = np.broadcast_to(self.intercept, (rows.num_rows, len(self.intercept))).copy()
        for cells, output in zip(self.cells, self.outputs, strict=True):
            if isinstance(output, Forest):
                f += output.predict(rows)
            else:
                cell = cells.domain.assign(rows)
                f[cell >= 0] += output[cell[cell >= 0]]
        return f


def assign_cells(cells: Sequence[PartCells], partitions: Sequence[Partition], rows: pa.Table) -> Ints:
    """Return (rows, parts): the cell of each row in each part, after a check that the bags hold these rows."""
    bags = {}
    for source in {one.source for one in cells}:
        bags[source] = partitions[source].assign(rows)
        inside = bags[source][bags[source] >= 0]
        partitions[source].check_counts(np.bincount(inside, minlength=len(partitions[source])))
        if not (bags[source] >= 0).any():
            raise InvalidInput(
                f"must have rows of the partition ({', '.join(partitions[source].columns)}), got none that "
                "is in any of its bags",
                field="data",
            )
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


def fit_core(
    cells: Sequence[PartCells],
    assigned: Ints,
    *,
    loss: SemilinearLoss,
    total: Floats,
    penalty: Penalty,
    solver: CrossSolver,
    progress: Progress | None = None,
) -> CoreModel:
    """Fit all parts."""
    distinct, weights = _compress(assigned)
    total = reachable_total(loss, total, weights.sum())
    problem = _problem(cells, distinct, weights, loss=loss, total=total, penalty=penalty)
    start = np.zeros(problem.size)
    start[: loss.targets] = loss.link((total / weights.sum())[None, :])[0]
    parameters, steps = solver.solve(problem, start)
    growing = [j for j, one in enumerate(cells) if isinstance(one.part, Tree)]
    trees: dict[int, list[GrownTree]] = {j: [] for j in growing}
    if growing:
        offset = _boost(problem, cells, trees, distinct, parameters, penalty=penalty, progress=progress)
        problem = _problem(cells, distinct, weights, loss=loss, total=total, penalty=penalty, offset=offset)
        parameters, more = solver.solve(problem, parameters)
        steps += more
    intercept, tables = problem.split(parameters)
    filled = iter(tables)
    outputs = tuple(
        Forest(columns=columns_of(one), trees=tuple(trees[j]), targets=loss.targets) if j in trees else next(filled)
        for j, one in enumerate(cells)
    )
    return CoreModel(intercept=intercept, cells=tuple(cells), outputs=outputs, steps=steps)


def _problem(
    cells: Sequence[PartCells],
    distinct: Ints,
    weights: Floats,
    *,
    loss: SemilinearLoss,
    total: Floats,
    penalty: Penalty,
    offset: Floats | None = None,
) -> CrossProblem:
    crosses = [j for j, one in enumerate(cells) if not isinstance(one.part, Tree)]
    strengths = []
    for j in crosses:
        inside = _rows_of(distinct[:, j], weights, len(cells[j]))
        fitted = part_penalty(penalty, cells[j], inside, loss=loss, total=total, of=weights.sum())
        strengths.append(fitted.strengths(typical_curvature(loss, total, weights.sum()) * inside, cells[j].noise))
    return CrossProblem(
        loss=loss,
        cells=distinct[:, crosses],
        weights=weights,
        totals=[cells[j].domain.totals for j in crosses],
        total=total,
        strengths=strengths,
        offset=offset,
    )


def _boost(
    problem: CrossProblem,
    cells: Sequence[PartCells],
    trees: dict[int, list[GrownTree]],
    distinct: Ints,
    parameters: Floats,
    *,
    penalty: Penalty,
    progress: Progress | None,
) -> Floats:
    """Grow the trees of all parts in turn; return their sum on each row."""
    f = problem.predict(parameters)
    offset = np.zeros_like(f)
    read = {j: (columns_of(cells[j]), codes_of_cells(cells[j], columns_of(cells[j]))) for j in trees}
    parts: dict[int, Tree] = {j: one.part for j, one in enumerate(cells) if isinstance(one.part, Tree)}
    penalties = {
        j: part_penalty(
            penalty,
            cells[j],
            _rows_of(distinct[:, j], problem.weights, len(cells[j])),
            loss=problem.loss,
            total=problem.total,
            of=problem.weights.sum(),
        )
        for j in trees
    }
    plan = [(r, j) for r in range(max(part.rounds for part in parts.values())) for j in trees if r < parts[j].rounds]
    for done, (_, j) in enumerate(plan, start=1):
        columns, codes = read[j]
        cell, count = distinct[:, j], len(cells[j])
        tree = grow(
            cells[j],
            codes,
            columns,
            rows=_rows_of(cell, problem.weights, count),
            gradient=_sum(problem, problem.loss.mean(f), cell, count) - cells[j].domain.totals,
            curvature=_sum(problem, problem.loss.curvature(f), cell, count),
            penalty=penalties[j],
        )
        step = np.vstack([tree.predict(codes), np.zeros((1, f.shape[1]))])[cell]  # cell -1: the last row, no step
        f += step
        offset += step
        trees[j].append(tree)
        if progress is not None:
            progress(done, len(plan))
    return offset


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
