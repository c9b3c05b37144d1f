"""The unbiased private release of a number with the least variance, by linear programming."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog
from scipy.sparse import block_array, csr_array, eye_array, kron

from tacit.labels.mechanisms.finite import check_prior
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee, Unit
from tacit.privacy.noise import Choice
from tacit.privacy.noise.enclosure import exp_bounds
from tacit.privacy.rounding import check_epsilon, exact

__all__ = ["OptimalUnbiased"]

Matrix = list[list[Fraction]]

_POINTS = 101
_UNIT = 1 << 80  # the program's answer is read in multiples of 1/_UNIT
_NOTHING = 1e-9  # an output of less probability than this is not used


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OptimalUnbiased:
    """Release a number whose expectation is the label, with the least expected squared error for a prior.

    Minimise sum P_y M[y,o] (o - y)^2 over M >= 0 with rows that sum to 1 and have mean y, and
    M[y,o] <= e^epsilon M[y',o]. The program's floating-point answer is then made exactly feasible in rationals,
    at a cost that ``repair_cost`` shows.

    Unit: one row's label; neighbours differ in that label alone. Assumes that the list of values and the prior
    are public or were paid for apart. Not protected: features, which rows exist.

    Parameters
    ----------
    epsilon
        In (0, 30], read as the decimal it prints.
    values
        The values a label can take, ascending.
    prior
        Their probabilities.
    grid
        The numbers that may be released; they must reach beyond the values. Default: 101 points as far as the
        de-biased randomized response reaches.

    References
    ----------
    Badanidiyuru et al. (2023). Formula sheet a9.

    Examples
    --------
    >>> mechanism = OptimalUnbiased(epsilon=1.0, values=np.array([0.0, 1.0]), prior=[0.5, 0.5])
    >>> round(mechanism.expected_error, 6), mechanism.repair_cost < 1e-6
    (0.920674, True)
    """

    name: ClassVar[str] = "optimal_unbiased"
    epsilon: float
    values: NDArray[np.float64]
    prior: NDArray[np.float64]
    grid: NDArray[np.float64] | None = None
    outputs: NDArray[np.float64] = field(init=False)
    expected_error: float = field(init=False)
    repair_cost: float = field(init=False)
    _choices: tuple[Choice, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        epsilon = check_epsilon(self.epsilon)
        if epsilon > 30:
            raise InvalidInput(
                f"must be at most 30 here, got {epsilon!r}; use RandomizedResponseOnBins", field="epsilon"
            )
        values = np.asarray(self.values, dtype=np.float64)
        if values.ndim != 1 or len(values) < 2 or not np.isfinite(values).all() or (np.diff(values) <= 0).any():
            raise InvalidInput("must be at least two finite numbers in ascending order", field="values")
        prior = check_prior(self.prior, classes=len(values))
        grid = _default_grid(values, epsilon) if self.grid is None else np.unique(np.asarray(self.grid, float))
        answer, optimum = _solve(values, prior, grid, epsilon)
        used = np.flatnonzero(answer.max(axis=0) > _NOTHING)
        used = np.union1d(used, [0, len(grid) - 1])  # the ends carry the repair
        matrix = _repair(answer[:, used], values, grid[used], exp_bounds(exact(epsilon), bits=160)[0])
        error = float((prior[:, None] * np.array(matrix, float) * (grid[used] - values[:, None]) ** 2).sum())
        for name, value in (
            ("values", values),
            ("prior", prior),
            ("grid", grid),
            ("outputs", grid[used]),
            ("expected_error", error),
            ("repair_cost", max(0.0, error - optimum)),
            ("_choices", tuple(Choice.from_fractions(row) for row in matrix)),
        ):
            object.__setattr__(self, name, value)

    def exact_transition(self) -> tuple[tuple[Fraction, ...], ...]:
        """Row i: the exact probability of each output when the label is the i-th value."""
        return tuple(choice.probabilities for choice in self._choices)

    def randomize(self, labels: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw one output a label."""
        numbers = np.asarray(labels, dtype=np.float64)
        if not np.isin(numbers, self.values).all():
            unknown = float(numbers[~np.isin(numbers, self.values)][0])
            raise InvalidInput(f"must be among the declared values, got {unknown!r}", field="labels")
        result = np.empty(len(numbers))
        for value, choice in zip(self.values, self._choices, strict=True):
            rows = np.flatnonzero(numbers == value)
            result[rows] = self.outputs[choice.draw(len(rows), rng=rng)]
        return result

    def estimate_mean(self, observed: ArrayLike) -> float:
        """Return the mean of released numbers, an unbiased estimate of the labels' mean."""
        return float(np.mean(np.asarray(observed, dtype=np.float64)))

    def guarantee(self) -> Guarantee:
        """Return the guarantee for one label."""
        return Guarantee(
            unit=Unit.LABEL,
            epsilon=self.epsilon,
            assumptions=("features, the list of label values and their prior are public",),
        )


def _default_grid(values: NDArray[np.float64], epsilon: float) -> NDArray[np.float64]:
    """As far as the outputs (y (E + K - 1) - sum of values)/(E - 1) of the de-biased randomized response."""
    ends = values[[0, -1]]
    reach = ends + (len(values) * ends - values.sum()) / np.expm1(epsilon)
    # a little beyond, so that a strictly private mechanism exists: the repair leans on it
    margin = 0.02 * (reach[1] - reach[0])
    return np.union1d(np.linspace(reach[0] - margin, reach[1] + margin, _POINTS - 2), reach)


def _solve(
    values: NDArray[np.float64], prior: NDArray[np.float64], grid: NDArray[np.float64], epsilon: float
) -> tuple[NDArray[np.float64], float]:
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


def _repair(
    answer: NDArray[np.float64], values: NDArray[np.float64], outputs: NDArray[np.float64], E: Fraction
) -> Matrix:
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
        f"grid must reach further beyond the values {float(y[0]):g}..{float(y[-1]):g}, got {float(o[0]):g}.."
        f"{float(o[-1]):g}: no mechanism with this epsilon has room to be made exact there"
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
