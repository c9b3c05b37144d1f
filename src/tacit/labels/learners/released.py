"""A release of labels as scikit-learn's searches take targets: sliced row by row, and never charged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.labels.releases.release import ROWS, Release
from tacit.privacy.releases import TableMember

__all__ = ["ReleasedLabels", "release_of", "take_rows"]


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedLabels:
    """A release as the ``y`` of a search: ``GridSearchCV(learner, grid, scoring=...).fit(X, ReleasedLabels(release))``.

    A search cuts y into parts; each part is a release of these rows, which a learner fits without charging anything,
    and which :func:`debiased_scorer` reads as the released labels.
    """

    release: Release

    @property
    def shape(self) -> tuple[int]:
        """As of an array of labels."""
        return (len(self),)

    @property
    def ndim(self) -> int:
        """1."""
        return 1

    @property
    def dtype(self) -> np.dtype[Any]:
        """As of an array of labels."""
        return np.asarray(self).dtype

    def __len__(self) -> int:
        return self.release.rows

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:  # noqa: ANN401
        return np.asarray(self.release.labels.to_numpy(), dtype=dtype)

    def __getitem__(self, rows: Any) -> Any:  # noqa: ANN401
        """Return the part of some rows, or the label of one."""
        wanted = rows[0] if isinstance(rows, tuple) else rows
        if isinstance(wanted, int | np.integer):
            return np.asarray(self)[wanted]
        return ReleasedLabels(take_rows(self.release, np.arange(len(self))[wanted]))


def take_rows(release: Release, rows: NDArray[np.int64]) -> Release:
    """Return the part of a release with these rows."""
    return replace(release, members={ROWS: TableMember(release.table.take(pa.array(rows)))})


def release_of(y: object) -> Release | None:
    """Return the release that a learner was given as its target, or None for raw labels."""
    if isinstance(y, ReleasedLabels):
        return y.release
    return y if isinstance(y, Release) else None
