"""Weights of linear crosses, fitted to bag totals by the exact gradient of the individual labels."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from tacit.bags.losses import SemilinearLoss
from tacit.privacy.lazy import lazy_method

__all__ = ["CrossProblem", "CrossSolver", "Lbfgs"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CrossProblem:
    """The mean loss of f(x) = w_0 + sum_j W_j[cell_j(x)] as a function of the weights, from totals alone.

    By Theorem 1 the gradient in W_j[c] is (sum over the cell's rows of grad b(f) - the cell's total of T(y))/N: no
    label of a row is in it. Rows that fall into the same cells are one weighted row.

    References
    ----------
    Chen et al. (2023), Theorem 1.
    """

    loss: SemilinearLoss
    cells: Ints  # (rows, parts): the cell of each row in each part, -1 if the part does not cover the row
    weights: Floats  # how many rows each of these rows represents
    totals: Sequence[Floats]  # for each part the total of T(y) in each cell
    total: Floats  # the total of T(y) over all rows, which the intercept is fitted to
    strengths: Sequence[Floats]  # for each part the penalty's strength of each cell
    offset: Floats | None = None  # what is added to f, (rows, targets); 0 where it is None

    @property
    def size(self) -> int:
        """The number of parameters, the intercept first."""
        return self.loss.targets * (1 + sum(map(len, self.totals)))

    def split(self, parameters: Floats) -> tuple[Floats, list[Floats]]:
        """Return the intercept and each part's table of weights."""
        rows = parameters.reshape(-1, self.loss.targets)
        ends = np.cumsum([1, *map(len, self.totals)])
        return rows[0], [rows[a:b] for a, b in itertools.pairwise(ends)]

    def predict(self, parameters: Floats) -> Floats:
        """Return f of each row."""
        intercept, tables = self.split(parameters)
        f = np.broadcast_to(intercept, (len(self.cells), self.loss.targets)).copy()
        if self.offset is not None:
            f += self.offset
        for j, table in enumerate(tables):
            known = self.cells[:, j] >= 0
            f[known] += table[self.cells[known, j]]
        return f

    def scales(self) -> Floats:
        """Return one over the square root of each parameter's own curvature: in that scale all bend alike."""
        rows = self.weights.sum()
        typical = self.loss.curvature(self.loss.link((self.total / rows)[None, :])).mean()
        bends = [np.full(1, typical * rows)]
        for j, strength in enumerate(self.strengths):
            inside = np.bincount(self.cells[:, j] + 1, self.weights, minlength=len(strength) + 1)[1:]
            bends.append(typical * np.maximum(inside, 1) + strength)
        return np.repeat(np.sqrt(rows / np.concatenate(bends)), self.loss.targets)

    def value_and_gradient(self, parameters: Floats) -> tuple[float, Floats]:
        """Return the penalized mean loss, less the mean of c(y), and its gradient."""
        intercept, tables = self.split(parameters)
        f = self.predict(parameters)
        rows = self.weights.sum()
        mean = self.weights[:, None] * self.loss.mean(f)
        value = self.weights @ self.loss.potential(f) - intercept @ self.total
        gradients = [mean.sum(axis=0)[None, :] - self.total]
        for j, (table, total, strength) in enumerate(zip(tables, self.totals, self.strengths, strict=True)):
            value += np.sum(strength[:, None] * table**2) / 2 - np.sum(table * total)
            gradients.append(sum_by_cell(mean, self.cells[:, j], len(table)) - total + strength[:, None] * table)
        return float(value / rows), np.concatenate(gradients).ravel() / rows


class CrossSolver(ABC):
    """How the weights are found."""

    __slots__ = ()

    fit = lazy_method("tacit.bags.learners.core", "fit_core")

    @abstractmethod
    def solve(self, problem: CrossProblem, start: Floats, /) -> tuple[Floats, int]:
        """Return the parameters and how many steps were made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lbfgs(CrossSolver):
    """Quasi-Newton steps until the gradient is below ``tolerance``."""

    steps: int = 1000
    tolerance: float = 1e-8

    def solve(self, problem: CrossProblem, start: Floats, /) -> tuple[Floats, int]:
        """Return the minimum and the number of steps."""
        scale = problem.scales()

        def scaled(z: Floats) -> tuple[float, Floats]:
            value, gradient = problem.value_and_gradient(scale * z)
            return value, scale * gradient

        found = minimize(
            scaled,
            start / scale,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": self.steps, "maxfun": 4 * self.steps, "gtol": self.tolerance, "ftol": 0.0},
        )
        return np.asarray(scale * found.x, dtype=np.float64), int(found.nit)


def sum_by_cell(values: Floats, cell: Ints, cells: int) -> Floats:
    """Add rows of values up by cell; rows of cell -1 are left out."""
    shifted = cell + 1
    return np.stack([np.bincount(shifted, column, minlength=cells + 1)[1:] for column in values.T], axis=1)
