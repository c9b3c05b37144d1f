"""Bags of rows drawn at random, with their mean labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput

__all__ = ["RandomBags"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RandomBags:
    """Rows grouped at random: for each bag its row numbers, all different, and its label.

    Parameters
    ----------
    rows
        Row numbers, from 0, in the order of the table; one row of the array per bag.
    labels
        The mean of T(y) over each bag, or a Bernoulli draw with that mean; one column for each target.
    joins
        In how many bags a row may be at most; None if that was not capped, which no guarantee allows.
    bernoulli
        Whether labels are the paper's draws instead of proportions.
    variance
        The variance of the noise in one label; 0 where there is none.

    References
    ----------
    Chen et al. (2023), Section 4.
    """

    rows: NDArray[np.int64]
    labels: NDArray[np.float64]
    joins: int | None = None
    bernoulli: bool = False
    variance: float = 0.0

    def __post_init__(self) -> None:
        if self.rows.ndim != 2 or self.labels.ndim != 2 or len(self.rows) != len(self.labels):
            raise InvalidInput(
                f"rows and labels must have one row per bag, got shapes {self.rows.shape} and {self.labels.shape}"
            )
        if self.rows.size and self.rows.min() < 0:
            raise InvalidInput(f"must be numbers from 0, got {int(self.rows.min())}", field="rows")

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def size(self) -> int:
        """The number of rows in a bag, m."""
        return int(self.rows.shape[1])

    @property
    def targets(self) -> int:
        """The dimension of T(y)."""
        return int(self.labels.shape[1])

    @property
    def most_joins(self) -> int:
        """In how many bags the row is that is in most of them."""
        return int(np.bincount(self.rows.ravel()).max()) if self.rows.size else 0

    def describe(self) -> dict[str, Any]:
        """Return what is public about how the bags were made, as plain JSON."""
        return {
            "bags": len(self),
            "size": self.size,
            "targets": self.targets,
            "joins": self.joins,
            "bernoulli": self.bernoulli,
            "variance": self.variance,
        }
