"""Rows as numbers, each with its class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "TrainingPoints", "row_keys"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainingPoints:
    """Encoded rows, and the class code of each."""

    rows: Floats
    codes: NDArray[np.int64]
    classes: tuple[Any, ...]

    @property
    def signs(self) -> Floats:
        """The classes of two as -1 and +1; the second is +1."""
        return np.where(self.codes == 1, 1.0, -1.0)


def row_keys(rows: Floats) -> list[bytes]:
    """Return what is the same for equal rows; -0.0 equals 0.0."""
    return [row.tobytes() for row in rows + 0.0]
