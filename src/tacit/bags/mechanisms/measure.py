"""T(y) as integer multiples of a public step, so that sums are exact on every engine and integer noise suits them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from tacit.bags.losses import SemilinearLoss
from tacit.data.queries import SqlColumn, float_literal
from tacit.privacy.errors import InvalidInput
from tacit.privacy.noise import NoiseGrid

__all__ = ["GridStatistic", "public_grid"]

_FINE = 1024  # steps in a label's declared range
_EXACT = 1 << 53  # below it sums of integers are exact in floats, in any order


@dataclass(frozen=True, slots=True, kw_only=True)
class GridStatistic:
    """T(y) of a loss, exact or in steps of a grid."""

    loss: SemilinearLoss  # the loss whose T(y) is added up
    # a step that is a power of two, so that every engine rounds alike; None leaves T(y) unchanged
    grid: NoiseGrid | None = None

    def __post_init__(self) -> None:
        step = Fraction(1) if self.grid is None else self.grid.step
        if any(part & (part - 1) for part in (step.numerator, step.denominator)):
            raise InvalidInput(f"must have a step that is a power of two, got {step}; take one near it", field="grid")

    @property
    def step(self) -> float:
        """What one unit of the sums represents."""
        return 1.0 if self.grid is None else float(self.grid.step)

    def values(self, labels: ArrayLike) -> NDArray[np.float64]:
        """Return T(y), in steps where there is a grid, one row per label."""
        exactly = self.loss.statistic(labels)
        return exactly if self.grid is None else self.grid.snap(exactly).astype(np.float64)

    def of_column(self, column: pa.ChunkedArray) -> NDArray[np.float64]:
        """Return the same for an Arrow column of labels."""
        return self.values(column.to_numpy(zero_copy_only=False))

    def check_type(self, column: SqlColumn) -> None:
        """Raise if a label column is of a type that the loss cannot read."""
        if not (column.is_number or pa.types.is_boolean(column.kind)):
            raise InvalidInput(
                f"label column {column.name!r} must have numbers or truth values, got {column.kind}; recode it"
            )

    def in_sql(self, column: SqlColumn) -> list[str]:
        """Return the same in SQL, so that it is added up in the engine."""
        exactly = self.loss.statistic_in_sql(column)
        if self.grid is None or (self.grid.step == 1 and self.loss.of_classes):
            return exactly
        # floor(v/step + 1/2), every operation exact: the float v/step + 1/2 may round up to the next integer
        twice, half = float_literal(2 / self.step), float_literal(0.5)
        return [f"CAST(FLOOR((FLOOR({value} * {twice}) + 1) * {half}) AS DOUBLE)" for value in exactly]

    def check_rows(self, rows: int) -> None:
        """Raise if sums of so many rows need not be exact: one label could then move them by more than it may."""
        lower, upper = self._bounds()
        if rows * max(int(np.abs(lower).max()), int(np.abs(upper).max())) >= _EXACT:
            raise InvalidInput(
                f"must have a step at which sums of {rows:,} labels stay below 2^53 steps, got {self.step!r}; "
                "widen it, or subtract a public number from the labels",
                field="grid",
            )

    @property
    def label_moves(self) -> tuple[tuple[int, ...], ...]:
        """By how many steps one label can move the entries of one bag's sum: the only worst case."""
        if self.loss.exclusive:
            one = 1 if self.grid is None else int(self.grid.snap([1.0])[0])
            return ((one, one),)
        lower, upper = self._bounds()
        return (tuple(int(b - a) for a, b in zip(lower, upper, strict=True)),)

    @property
    def record_moves(self) -> tuple[tuple[int, ...], ...]:
        """By how many steps one replaced record can move a partition's sums: within one bag, or from one to another."""
        if self.loss.exclusive:
            return self.label_moves  # one entry loses a 1 and another gains it, in the same bag or not
        lower, upper = self._bounds()
        most = tuple(int(max(abs(a), abs(b))) for a, b in zip(lower, upper, strict=True))
        return (*self.label_moves, most + most)

    def _bounds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        if self.grid is None:
            raise InvalidInput("must be given with noise: integer noise needs a public step", field="grid")
        _ = self.loss.l1  # raises, in the loss's own words, where a range must be declared first
        lower, upper = self.loss.bounds
        return self.grid.snap(lower), self.grid.snap(upper)


def public_grid(loss: SemilinearLoss) -> NoiseGrid:
    """Return the grid for a loss where none is declared: 1 for classes, else about 1/1000 of the declared range."""
    if loss.of_classes:
        return NoiseGrid(step=Fraction(1))
    _ = loss.l1
    lower, upper = loss.bounds
    return NoiseGrid(step=Fraction(2) ** math.floor(math.log2(float((upper - lower).max()) / _FINE)))
