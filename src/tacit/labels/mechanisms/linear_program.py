"""The linear program of the best unbiased randomizer, and its answer made exactly private in rationals."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog
from scipy.sparse import block_array, csr_array, eye_array, kron

from tacit.privacy.errors import InvalidInput
from tacit.privacy.noise import WeightedChoice
from tacit.privacy.noise.enclosure import exp_bounds
from tacit.privacy.rounding import exact

__all__ = ["UnbiasedProgram"]

Matrix = list[list[Fraction]]
Array = NDArray[np.float64]

_POINTS = 101
_UNIT = 1 << 80  # the program's answer is read in multiples of 1/_UNIT
_NOTHING = 1e-9  # an output of less probability than this is not used


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnbiasedProgram:
    """The outputs, how each value draws one of them, the expected squared error, and what exactness added to it."""

    outputs: Array
    choices: tuple[WeightedChoice, ...]
    expected_error: float
    repair_cost: float

    @classmethod
    def solve(cls, values: Array, prior: Array, *, epsilon: float, grid: ArrayLike | None = None) -> UnbiasedProgram:
        """Return the best randomizer with outputs on the grid."""
        points = _default_grid(values, epsilon) if grid is None else np.unique(np.asarray(grid, float))
        answer, optimum = _solve(values, prior, points, epsilon)
        used = np.flatnonzero(answer.max(axis=0) > _NOTHING)
        used = np.union1d(used, [0, len(points) - 1])  # the ends carry the repair
        matrix = _repair(answer[:, used], values, points[used], exp_bounds(exact(epsilon), bits=160)[0])
        error = float((prior[:, None] * np.array(matrix, float) * (points[used] - values[:, None]) ** 2).sum())
        return cls(
            outputs=points[used],
            choices=tuple(WeightedChoice.from_fractions(row) for row in matrix),
            expected_error=error,
            repair_cost=max(0.0, error - optimum),
        )

    def draw(self, codes: NDArray[np.int64], *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the place of one output for each place among the values."""
        result = np.empty(len(codes), dtype=np.int64)
        for value, choice in enumerate(self.choices):
            rows = np.flatnonzero(codes == value)
            result[rows] = choice.draw(len(rows), rng=rng)
        return result


def _default_grid(values: Array, epsilon: float) -> Array:
    """As far as the outputs (y (E + K - 1) - sum of values)/(E - 1) of the de-biased randomized response."""
    ends = values[[0, -1]]
    reach = ends + (len(values) * ends - values.sum()) / np.expm1(epsilon)
    # a little beyond, so that a strictly private mechanism exists: the repair leans on it
    margin = 0.02 * (reach[1] - reach[0])
    return np.union1d(np.linspace(reach[0] - margin, reach[1] + margin, _POINTS - 2), reach)


def _solve(values: Array, prior: Array, grid: Array, epsilon: float) -> tuple[Array, float]:
    """The linear program with the least probability of each output as a variable: 2 n m constraints."""
    n, m = len(values), len(grid)
    cost = np.concatenate([(prior[:, None] * (grid - values[:, None]) ** 2).ravel(), np.zeros(m)])
    each, least = eye_array(n * m), kron(np.ones((n, 1)), eye_array(m))
    ratios: Any = block_array([[each, -np.exp(epsilon) * least], [-each, least]])
    moments: Any = block_array([[kron(eye_array(n), np.stack([np.ones(m), grid])), csr_array((2 * n, m))]])
    found: Any = linprog(
        cost,
        A_ub=ratios.tocsr(),
        b_ub=np.zeros(2 * n * m),
        A_eq=moments.tocsr(),
        b_eq=np.stack([np.ones(n), values], axis=1).ravel(),
        method="highs",
    )
    if not found.success:
        raise InvalidInput(
            f"must reach further beyond the values {values[0]:g}..{values[-1]:g}, got {grid[0]:g}..{grid[-1]:g}: "
            "no unbiased mechanism with this epsilon has its outputs there",
            field="grid",
        )
    return np.maximum(found.x[: n * m].reshape(n, m), 0), float(found.fun)


def _repair(answer: Array, values: Array, outputs: Array, E: Fraction) -> Matrix:
    """Make the answer exactly feasible: restore sums and means at the ends, then mix in a strictly private one."""
    y, o = [Fraction(v) for v in values.tolist()], [Fraction(v) for v in outputs.tolist()]
    near = [_with_mean([Fraction(round(p * _UNIT), _UNIT) for p in row], y[i], o) for i, row in enumerate(answer)]
    safe = _strictly_private(y, o, E)
    share = Fraction(0)
    while share < 1:
        mixed = [_mix(*rows, share) for rows in zip(near, safe, strict=True)]
        if _is_private(mixed, E):
            return mixed
        share = Fraction(1, 1 << 40) if share == 0 else 2 * share
    return safe


def _strictly_private(y: list[Fraction], o: list[Fraction], E: Fraction) -> Matrix:
    """The same small probability of every inner output, whatever the label; the ends make up sum and mean."""
    inner = Fraction(1, 4 * len(o))
    while inner > Fraction(1, 1 << 60):
        matrix = [_with_mean([inner] * len(o), value, o) for value in y]
        if _is_private(matrix, E):
            return matrix
        inner /= 4
    raise InvalidInput(
        f"must reach further beyond the values {float(y[0]):g}..{float(y[-1]):g}, got {float(o[0]):g}.."
        f"{float(o[-1]):g}: no mechanism with this epsilon can be made exact there",
        field="grid",
    )


def _mix(first: list[Fraction], second: list[Fraction], share: Fraction) -> list[Fraction]:
    return [(1 - share) * a + share * b for a, b in zip(first, second, strict=True)]


def _with_mean(row: list[Fraction], mean: Fraction, outputs: list[Fraction]) -> list[Fraction]:
    """Change the first and the last entry so that the row sums to 1 and has the given mean."""
    inner = row[1:-1]
    mass = 1 - sum(inner, Fraction(0))
    moment = mean - sum((p * o for p, o in zip(inner, outputs[1:-1], strict=True)), Fraction(0))
    last = (moment - mass * outputs[0]) / (outputs[-1] - outputs[0])
    return [mass - last, *inner, last]


def _is_private(matrix: Matrix, E: Fraction) -> bool:
    columns = list(zip(*matrix, strict=True))
    return all(min(column) >= 0 and max(column) <= E * min(column) for column in columns)
