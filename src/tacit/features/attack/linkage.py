"""Whose row is it: match released rows to raw ones by their features alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from tacit.data.matrix import numeric_matrix
from tacit.leak import Leak, leak_from_guesses
from tacit.privacy.errors import InvalidInput, InvalidRelease
from tacit.privacy.release import Release

__all__ = ["ReleasedRows", "link_rows", "linkage_leak"]

Matrix = NDArray[np.float64]
Progress = Callable[[int, int], None]

_CELLS = 1 << 23


class ReleasedRows:
    """Released rows as an attacker sees them: values, the noise on each feature, and the box they were clipped to.

    Examples
    --------
    >>> from tacit.privacy import NoGuarantee
    >>> release = Release(value=pa.table({"a": [3.0], "label": [0]}), guarantee=NoGuarantee(reason="an example"),
    ...                   surface="features", mechanism={"name": "noised_rows", "features": ["a"], "noise": [2.0],
    ...                   "lower": [-1.0], "upper": [1.0]}, seeded=True)
    >>> ReleasedRows(release).place([[5.0]])
    array([[0.5]])
    """

    def __init__(self, release: Release) -> None:
        if release.surface != "features":
            raise InvalidRelease(f"the release must be of features, got one of {release.surface}")
        if not isinstance(release.value, pa.Table):
            raise InvalidRelease("the release must hold feature rows; class totals have none to link")
        header = release.mechanism
        self.names = tuple(str(name) for name in header["features"])
        self.noise = np.asarray(header["noise"], dtype=np.float64)
        self.lower, self.upper = header.get("lower"), header.get("upper")
        self.rows = numeric_matrix(release.value, columns=self.names) / self.noise

    def place(self, raw: ArrayLike) -> Matrix:
        """Return raw rows as the release would show them without noise: clipped, in units of the noise.

        Examples
        --------
        >>> callable(ReleasedRows.place)
        True
        """
        values = np.asarray(raw, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != len(self.names):
            raise InvalidInput(f"raw rows must have the {len(self.names)} released features, got shape {values.shape}")
        if not np.isfinite(values).all():
            raise InvalidInput("raw rows must be finite, got missing, NaN or infinite values; leave those rows out")
        if self.lower is not None and self.upper is not None:
            values = np.clip(values, self.lower, self.upper)
        return np.asarray(values / self.noise)


def link_rows(release: Release, raw: ArrayLike, *, progress: Progress | None = None) -> NDArray[np.int64]:
    """Return for each released row the raw row that most likely lies behind it: the nearest in units of the noise.

    Under Gaussian noise and no prior the nearest is the most likely. The order of the rows is not used: who knows it
    links every row without looking.

    Parameters
    ----------
    release
        Feature rows.
    raw
        Candidate rows with the released features, in their order.
    progress
        Called with rows done and rows in all.

    Examples
    --------
    >>> from tacit.privacy import NoGuarantee
    >>> release = Release(value=pa.table({"a": [0.1, 0.9], "label": [0, 1]}), seeded=True, surface="features",
    ...                   guarantee=NoGuarantee(reason="an example"),
    ...                   mechanism={"name": "noised_rows", "features": ["a"], "noise": [0.2]})
    >>> link_rows(release, [[1.0], [0.0], [5.0]])
    array([1, 0])
    """
    seen = ReleasedRows(release)
    candidates = seen.place(raw)
    squares = (candidates**2).sum(axis=1) / 2
    chunk = max(1, _CELLS // max(1, len(candidates)))
    linked = np.empty(len(seen.rows), dtype=np.int64)
    for start in range(0, len(linked), chunk):
        part = seen.rows[start : start + chunk]
        linked[start : start + chunk] = (part @ candidates.T - squares).argmax(axis=1)
        if progress:
            progress(min(start + chunk, len(linked)), len(linked))
    return linked


def linkage_leak(
    linked: ArrayLike, truth: ArrayLike, *, candidates: int, delta: float = 0.0, level: float = 0.95
) -> Leak:
    """Measure linkage: the share of rows linked right, against one in ``candidates`` by chance.

    Where each row has noise of its own it proves an epsilon of that noise: the outputs that link to one candidate
    differ from those that link to another, so the chances of n right links add up to at most e^epsilon + n delta.

    Parameters
    ----------
    linked
        What :func:`link_rows` returned.
    truth
        The raw row behind each released one.
    candidates
        How many raw rows there were to choose from.
    delta
        The delta of the promise.

    Examples
    --------
    >>> linkage_leak([0, 1, 2, 0], [0, 1, 2, 3], candidates=4).advantage
    0.5
    """
    return leak_from_guesses(linked, truth, baseline=1 / candidates, level=level, delta=delta)
