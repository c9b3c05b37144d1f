"""Whose row is it: match released rows to known ones by their features alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from tacit.features.attacks.attacked_features import AttackedFeatures
from tacit.features.attacks.released_rows import ReleasedRows
from tacit.features.methods import Linkage
from tacit.leak import Leak, OddsChange, leak_from_guesses
from tacit.privacy.edge import Progress
from tacit.privacy.errors import InvalidInput

__all__ = ["link", "link_rows", "linkage_leak"]

_CELLS = 1 << 23


def link(_: Linkage, target: AttackedFeatures) -> Leak:
    """Link every released row to a row of the protected table, and count the correct links by the order of both."""
    if target.data is not None:
        raise InvalidInput("has no use for linkage: its candidates are the rows of truth", field="data")
    released, known = ReleasedRows.of(target.release), target.read("truth")
    if len(known) != len(released.rows):
        raise InvalidInput(f"must have the {len(released.rows)} released rows, got {len(known)}", field="truth")
    linked, order = link_rows(released, known, progress=target.progress), np.arange(len(known))
    delta = target.release.plan.delta
    leak = linkage_leak(linked, order, candidates=len(known), delta=delta, level=target.level)
    return replace(leak, guesses=pa.table({"linked_row": linked, "right": linked == order}))


def link_rows(released: ReleasedRows, candidates: ArrayLike, *, progress: Progress | None = None) -> NDArray[np.int64]:
    """Return for each released row the candidate that is most likely behind it: the nearest in units of the noise.

    Under Gaussian noise and no prior the nearest is the most likely. The order of the rows is not used: anyone who
    knows it links every row without looking.

    Examples
    --------
    >>> link_rows(ReleasedRows([[0.1], [0.9]], noise=0.2), [[1.0], [0.0], [5.0]])
    array([1, 0])
    """
    known = released.place(candidates)
    squares = (known**2).sum(axis=1) / 2
    chunk = max(1, _CELLS // max(1, len(known)))
    linked = np.empty(len(released.rows), dtype=np.int64)
    for start in range(0, len(linked), chunk):
        part = released.rows[start : start + chunk]
        linked[start : start + chunk] = (part @ known.T - squares).argmax(axis=1)
        if progress:
            progress(min(start + chunk, len(linked)), len(linked))
    return linked


def linkage_leak(
    linked: ArrayLike, truth: ArrayLike, *, candidates: int, delta: float = 0.0, level: float = 0.95
) -> Leak:
    """Measure linkage: the share of rows linked correctly, compared with one in ``candidates`` by chance.

    Where each row has noise of its own this gives a lower bound on the epsilon of that noise: the outputs that link to
    one candidate differ from those that link to another, so the chances of n correct links add up to at most
    e^epsilon + n delta.
    """
    leak = leak_from_guesses(linked, truth, baseline=1 / candidates, level=level, delta=delta)
    change = OddsChange.from_counts(
        "the row behind a released one",
        found=leak.right,
        rows=leak.trials,
        mistaken=leak.trials - leak.right,
        others=leak.trials * (candidates - 1),
        share=1 / candidates,
        level=level,
    )
    return replace(leak, rate_of="released rows are linked correctly", baseline_of="by chance", changes=(change,))
