"""Whose row is it: match released rows to known ones by their features alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from tacit.features.attacks.attacked_features import AttackedFeatures
from tacit.features.attacks.matching import match_rows
from tacit.features.attacks.released_rows import ReleasedRows
from tacit.features.methods import Linkage
from tacit.leak import Interval, Leak, OddsChange, clopper_pearson, leak_from_guesses
from tacit.privacy.errors import InvalidInput

__all__ = ["link", "link_rows", "linkage_leak"]

_CELLS = 1 << 23
_CYCLES = 3.0  # of links that are all correct


def link(_: Linkage, target: AttackedFeatures) -> Leak:
    """Link every released row to a row of the protected table, and count the correct links by the order of both.

    The bound on epsilon is that of links made row by row, by the noise of each row alone: the outputs that link to one
    candidate differ from those that link to another, so the chances of n correct links add up to at most e^epsilon + n
    delta. Links made together depend on each other, and prove nothing.
    """
    if target.data is not None:
        raise InvalidInput("has no use for linkage: its candidates are the rows of truth", field="data")
    released, known = ReleasedRows.of(target.release), target.read("truth")
    if len(known) != len(released.rows):
        raise InvalidInput(f"must have the {len(released.rows)} released rows, got {len(known)}", field="truth")
    (linked, chance), order = match_rows(released, known, progress=target.progress), np.arange(len(known))
    alone = link_rows(released, known)
    delta, level = target.release.plan.delta, target.level
    proved = leak_from_guesses(alone, order, baseline=1 / len(known), level=level, delta=delta)
    leak = replace(linkage_leak(linked, order, candidates=len(known), level=level), bound=proved.bound)
    return replace(leak, guesses=pa.table({"linked_row": linked, "probability": chance, "right": linked == order}))


def link_rows(released: ReleasedRows, candidates: ArrayLike) -> NDArray[np.int64]:
    """Return for each released row by itself the candidate that is most likely behind it: the nearest, by the noise.

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
    return linked


def linkage_leak(linked: ArrayLike, truth: ArrayLike, *, candidates: int, level: float = 0.95) -> Leak:
    """Measure linkage: the share of rows linked correctly, compared with one in ``candidates`` by chance.

    Wrong links come in cycles, because a row that takes the candidate of another leaves it without. In simulations the
    number of correct links varies up to 3.2 times as much as independent ones where nearly all are correct, and no more
    than these where few are. Intervals are those of rows / (1 + 3 rate) links. No epsilon is proved by links that
    depend on each other.
    """
    leak = leak_from_guesses(linked, truth, baseline=1 / candidates, level=level)
    spread = 1 + _CYCLES * leak.rate
    interval = clopper_pearson(leak.right, leak.trials, level=level, spread=spread)
    change = OddsChange.from_counts(
        "the row behind a released one",
        found=leak.right,
        rows=leak.trials,
        mistaken=leak.trials - leak.right,
        others=leak.trials * (candidates - 1),
        share=1 / candidates,
        level=level,
        spread=spread,
    )
    return replace(
        leak,
        interval=interval,
        advantage_interval=Interval(low=interval.low - leak.baseline, high=interval.high - leak.baseline, level=level),
        method="Clopper-Pearson, widened for wrong links in cycles",
        rate_of="released rows are linked correctly",
        baseline_of="by chance",
        bound=None,
        changes=(change,),
    )
