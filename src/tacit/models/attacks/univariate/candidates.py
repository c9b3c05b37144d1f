"""Candidates for training points from breakpoints and margin alone, a quarter of which are training points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.models.attacks.univariate.function import PiecewiseLinear, find_margin
from tacit.models.points import Floats

__all__ = ["CandidatePoints", "build_candidates"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CandidatePoints:
    """A finite set of points, at least a quarter of them training points under the assumptions of Theorem 3.4.

    Each of the disjoint closed ``windows`` holds a training point. ``enough`` says whether there were three
    breakpoints, which the theorem needs; without them the set is empty.
    """

    points: Floats
    labels: NDArray[np.int64]
    windows: Floats
    enough: bool


def build_candidates(function: PiecewiseLinear, *, margin: float = 1.0, tolerance: float = 1e-9) -> CandidatePoints:
    """Return a finite set of which at least a quarter are training points: Algorithm 1 with disjoint windows.

    A window is either three breakpoints in a row with neither piece between them on the margin throughout: a
    training point lies in it and at most four of its points are on the margin (Theorem 3.2); or the two ends of a
    piece between two pieces on the margin, one of which is a training point (Theorem 3.3). The algorithm as printed
    slides its windows, so that several may hold the same training point and the quarter is lost. Here closed windows
    share no point, not even a breakpoint; as many as possible are taken, the one that ends first before others.

    References
    ----------
    Paper 004, Theorems 3.2 to 3.4, Algorithm 1, footnote 3; the loop runs over breakpoints, not over n points.
    """
    t = function.breakpoints
    on = find_margin(function, margin=margin, tolerance=tolerance)
    flat = np.isin(t[:-1], on.flats[:, 0]) & np.isin(t[1:], on.flats[:, 1])
    windows = _disjoint(t, flat) if len(t) >= 3 else []
    chosen = np.zeros(len(on.points), dtype=np.bool_)
    for low, high in windows:
        chosen |= (on.points >= t[low]) & (on.points <= t[high])
    return CandidatePoints(
        points=on.points[chosen],
        labels=on.labels[chosen],
        windows=np.array([[t[low], t[high]] for low, high in windows]).reshape(-1, 2),
        enough=len(t) >= 3,
    )


def _disjoint(t: Floats, flat: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return first and last breakpoint of the windows: among all, the one that ends first, then again behind it."""
    windows: list[tuple[int, int]] = []
    start = 0
    for last in range(1, len(t)):
        between_flats = 2 <= last < len(t) - 1 and flat[last - 2] and not flat[last - 1] and flat[last]
        if between_flats and last - 1 >= start:
            windows.append((last - 1, last))
        elif last - 2 >= start and not (flat[last - 2] or flat[last - 1]):
            windows.append((last - 2, last))
        else:
            continue
        start = last + 1
    return windows
