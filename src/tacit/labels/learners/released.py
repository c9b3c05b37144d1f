"""A release of labels as scikit-learn's searches take targets: sliced row by row, and never charged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.labels.releases.source import LABEL
from tacit.privacy.errors import InvalidInput
from tacit.privacy.release import Release

__all__ = ["ReleasedLabels", "release_of"]


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedLabels:
    """A release as the ``y`` of a search: ``GridSearchCV(learner, grid, scoring=...).fit(X, ReleasedLabels(release))``.

    A search cuts y into parts; each part is a release of these rows, which a learner fits without charging anything,
    and which :func:`debiased_scorer` reads as the released labels.

    Examples
    --------
    >>> from tacit.labels.mechanisms.response import RandomizedResponse
    >>> from tacit.labels.releases.labels import release_labels
    >>> release = release_labels(["a", "b", "b"], mechanism=RandomizedResponse(epsilon=9.0),
    ...                          rng=np.random.default_rng(0))
    >>> y = ReleasedLabels(release)
    >>> len(y), np.asarray(y[[0, 2]])
    (3, array(['a', 'b'], dtype=object))
    """

    release: Release

    def __post_init__(self) -> None:
        if self.release.surface != "labels" or LABEL not in getattr(self.release.value, "column_names", ()):
            raise InvalidInput(f"release must be a table of labels, got one of {self.release.surface}")

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
        return int(pa.table(self.release.value).num_rows)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:  # noqa: ANN401
        labels = pa.table(self.release.value)[LABEL].to_numpy()
        return np.asarray(labels, dtype=dtype)

    def __getitem__(self, rows: Any) -> Any:  # noqa: ANN401
        """Return the part of some rows, or the label of one."""
        wanted = rows[0] if isinstance(rows, tuple) else rows
        if isinstance(wanted, int | np.integer):
            return np.asarray(self)[wanted]
        kept = pa.array(np.arange(len(self))[wanted])
        return ReleasedLabels(replace(self.release, value=pa.table(self.release.value).take(kept)))


def release_of(y: object) -> Release | None:
    """Return the release that a learner was given as its target, or None for raw labels.

    Examples
    --------
    >>> release_of([0, 1]) is None
    True
    """
    if isinstance(y, ReleasedLabels):
        return y.release
    return y if isinstance(y, Release) else None
