"""Released rows as an attacker sees them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.data import numeric_matrix
from tacit.features.mechanisms.box import STEPS, FeatureRanges
from tacit.features.releases.release import Release
from tacit.privacy.errors import InvalidInput, InvalidRelease

__all__ = ["ReleasedRows"]

Matrix = NDArray[np.float64]


class ReleasedRows:
    """Released rows in units of the noise on each feature, and how any other row would look among them.

    Parameters
    ----------
    noise
        Standard deviation of the noise: one number, or one per feature.
    box
        The ranges that values were clipped to; None if they were not.
    """

    def __init__(self, rows: ArrayLike, *, noise: ArrayLike, box: FeatureRanges | None = None) -> None:
        self.noise = np.asarray(noise, dtype=np.float64)
        self.box = box
        self.rows = np.asarray(rows, dtype=np.float64) / self.noise

    @classmethod
    def of(cls, release: Release) -> ReleasedRows:
        """Return the rows of a release; totals have none."""
        if release.rows is None:
            raise InvalidRelease("class totals have no rows to attack; use the method canaries")
        rows = numeric_matrix(release.rows, columns=release.features)
        rounding = release.box.half / STEPS  # where no noise was added
        return cls(rows, noise=np.maximum(release.settled["noise"], rounding), box=release.box)

    def place(self, rows: ArrayLike) -> Matrix:
        """Return rows as the release would show them without noise: clipped, in units of the noise."""
        values = np.asarray(rows, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != self.rows.shape[1]:
            raise InvalidInput(
                f"must have the {self.rows.shape[1]} released features, got shape {values.shape}", field="rows"
            )
        if self.box is not None:
            values = np.clip(values, self.box.lower, self.box.upper)
        return np.asarray(values / self.noise)
