"""Decision trees grown from bag totals: a sum of gradients over a union of bags needs no row's label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeRegressor

from tacit.bags.learners.cells import PartCells
from tacit.bags.learners.parts import BoostedTrees
from tacit.bags.learners.penalty import Penalty
from tacit.bags.partition import KeyColumn

__all__ = ["ColumnCodes", "ForestGrower", "GrownForest", "GrownTree"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColumnCodes:
    """A column's values as numbers 0, 1, ...; -1 for a value that no bag has."""

    feature: KeyColumn
    values: pa.Array

    def encode(self, rows: pa.Table) -> Ints:
        """Return the code of each row."""
        return self.of(self.feature.codes(rows[self.feature.name]))

    def of(self, keys: pa.Array) -> Ints:
        """Return the code of each key."""
        found = pc.index_in(keys.cast(self.values.type), value_set=self.values)
        return np.asarray(pc.fill_null(found, -1)).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GrownTree:
    """One tree: an order of each column's values, the splits on it, and each leaf's step."""

    orders: tuple[Floats, ...]
    splits: DecisionTreeRegressor
    steps: Floats

    def predict(self, codes: Ints) -> Floats:
        """Return the step of each row of codes."""
        return np.asarray(self.steps[self.splits.apply(_ordered(codes, self.orders))])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GrownForest:
    """The trees of one part, and how rows are read for them."""

    columns: tuple[ColumnCodes, ...]
    trees: tuple[GrownTree, ...]
    targets: int

    def predict(self, rows: pa.Table) -> Floats:
        """Return the part's output on rows."""
        result = np.zeros((rows.num_rows, self.targets))
        if not self.trees:
            return result
        codes = np.stack([column.encode(rows) for column in self.columns], axis=1)
        for tree in self.trees:
            result += tree.predict(codes)
        return result


class ForestGrower:
    """The trees of one part while they grow, on the cells of the part."""

    def __init__(self, part: BoostedTrees, cells: PartCells) -> None:
        keys = cells.domain.keys
        self.part, self.cells = part, cells
        self.columns = tuple(
            ColumnCodes(feature=feature, values=keys[feature.name].combine_chunks().unique())
            for feature in cells.domain.features
        )
        self.codes = np.stack([c.of(keys[c.feature.name].combine_chunks()) for c in self.columns], axis=1)
        if cells.domain.other is not None:
            self.codes[cells.domain.other] = -1
        self.trees: list[GrownTree] = []

    def grow(self, *, rows: Floats, gradient: Floats, curvature: Floats, penalty: Penalty) -> Floats:
        """Grow one more tree, and return its step in each cell.

        The best split of the squared error of -gradient/rows, weighted by rows, depends on the sums of gradients on its
        two sides alone; those are exact from bag totals, so the tree is the one that individual labels give. A leaf's
        step is a Newton step, -G/(H + strength), times the part's rate.
        """
        known = rows > 0
        orders = tuple(_order(c, self.codes[:, i], rows, gradient) for i, c in enumerate(self.columns))
        points = _ordered(self.codes, orders)
        splits = DecisionTreeRegressor(
            max_depth=self.part.depth,
            min_weight_fraction_leaf=min(0.5, self.part.least_rows / rows.sum()),
            random_state=0,
        )
        splits.fit(points[known], -gradient[known] / rows[known, None], sample_weight=rows[known])
        leaf = splits.apply(points)
        steps = np.zeros((splits.tree_.node_count, gradient.shape[1]))
        noise = np.bincount(leaf, self.cells.noise * known, minlength=len(steps)).astype(np.float64)
        for k in range(gradient.shape[1]):
            H = np.bincount(leaf, curvature[:, k], minlength=len(steps)).astype(np.float64)
            G = np.bincount(leaf, gradient[:, k], minlength=len(steps))
            steps[:, k] = -self.part.rate * G / np.maximum(H + penalty.strengths(H, noise), 1e-12)
        self.trees.append(GrownTree(orders=orders, splits=splits, steps=steps))
        return np.asarray(steps[leaf])

    def forest(self, *, targets: int) -> GrownForest:
        """Return the trees that were grown."""
        return GrownForest(columns=self.columns, trees=tuple(self.trees), targets=targets)


def _order(column: ColumnCodes, code: Ints, rows: Floats, gradient: Floats) -> Floats:
    """A number for each value: its bucket, or its mean residual, by which a best split of values is an interval.

    The last number is for values that no bag has.
    """
    if column.feature.edges is not None:
        return np.append(np.asarray(pc.fill_null(column.values, -1), dtype=np.float64), -1.0)
    count = np.bincount(code + 1, rows, minlength=len(column.values) + 1)[1:]
    # with several targets, the one whose residuals differ most over the values orders them
    means = np.stack(
        [np.bincount(code + 1, g, minlength=len(count) + 1)[1:] / np.maximum(count, 1) for g in gradient.T], axis=1
    )
    widest = int(np.argmax((count[:, None] * means**2).sum(axis=0)))
    return np.append(-means[:, widest], 0.0)


def _ordered(codes: Ints, orders: tuple[Floats, ...]) -> Floats:
    return np.stack([order[codes[:, i]] for i, order in enumerate(orders)], axis=1)
