"""ROC curves, on a grid that shows false-positive rates below 1%."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.leak.intervals import Interval, clopper_pearson
from tacit.leak.stored_result import StoredResult
from tacit.privacy.errors import InvalidInput

__all__ = ["FPR_GRID", "RocCurve", "RocPoint", "check_scores", "roc_from_sorted"]

FPR_GRID: NDArray[np.float64] = np.concatenate(
    [[0.0], np.logspace(-5, -2, 60, endpoint=False), np.linspace(0.01, 1.0, 100)]
)
"""The false-positive rates of every curve: 20 per decade below 1%, each percent above."""
FPR_GRID.setflags(write=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RocPoint(StoredResult):
    """The true-positive rate at a false-positive rate of at most ``fpr``.

    Parameters
    ----------
    attained
        The false-positive rate counted at the threshold that the non-members set.
    interval
        Clopper-Pearson interval of ``tpr`` at that threshold, which does not depend on the members.
    """

    fpr: float
    attained: float
    tpr: float
    interval: Interval

    def __str__(self) -> str:
        return f"TPR {self.tpr:.1%} ({self.interval}) at {100 * self.fpr:g}% FPR"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RocCurve(StoredResult):
    """A receiver operating characteristic on :data:`FPR_GRID`.

    Parameters
    ----------
    fpr, tpr
        At each false-positive rate, the largest true-positive rate of a threshold that stays within it.
    auc
        The probability that a member scores above a non-member, ties counted half; from all scores, not the grid.
    """

    fpr: NDArray[np.float64]
    tpr: NDArray[np.float64]
    auc: float
    at_0_1_percent: RocPoint
    at_1_percent: RocPoint

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RocCurve) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]


def roc_from_sorted(members: NDArray[np.float64], nonmembers: NDArray[np.float64], *, level: float) -> RocCurve:
    """Draw the curve of an attack whose higher scores mean "member"; scores are sorted upwards already.

    References
    ----------
    Carlini et al. (2022), Section IV (why low false-positive rates, on a log scale); Hanley and McNeil (1982) for
    the area.
    """
    found = _found(members, nonmembers, FPR_GRID)[0]
    tpr = found / len(members)
    tpr.setflags(write=False)
    ranks = np.searchsorted(nonmembers, members, "left") + np.searchsorted(nonmembers, members, "right")
    return RocCurve(
        fpr=FPR_GRID,
        tpr=tpr,
        auc=float(ranks.sum() / (2 * len(members) * len(nonmembers))),
        at_0_1_percent=_point(members, nonmembers, 0.001, level),
        at_1_percent=_point(members, nonmembers, 0.01, level),
    )


def check_scores(scores: ArrayLike, *, name: str) -> NDArray[np.float64]:
    """Return scores as a flat float array, or raise unless there are some and all are numbers.

    Infinite scores are allowed: only the order counts.
    """
    try:
        array = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} must be a list of numbers, got {type(scores).__name__}") from None
    if array.ndim != 1:
        raise InvalidInput(f"{name} must be one score per row (one dimension), got shape {array.shape}")
    if not len(array):
        raise InvalidInput(f"{name} must have at least one score, got none")
    missing = int(np.isnan(array).sum())
    if missing:
        raise InvalidInput(f"{name} must not contain NaN, got {missing} among {len(array)} scores: drop those rows")
    return array


def _found(
    members: NDArray[np.float64], nonmembers: NDArray[np.float64], fpr: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count members and non-members strictly above the first non-member that must not be a false positive."""
    n = len(nonmembers)
    allowed = np.floor(fpr * n * (1 + 1e-12)).astype(np.int64)
    everyone = allowed >= n
    bar = nonmembers[np.maximum(n - 1 - allowed, 0)]
    above = [len(s) - np.searchsorted(s, bar, "right") for s in (members, nonmembers)]
    return np.where(everyone, len(members), above[0]), np.where(everyone, n, above[1])


def _point(members: NDArray[np.float64], nonmembers: NDArray[np.float64], fpr: float, level: float) -> RocPoint:
    found, accused = _found(members, nonmembers, np.array([fpr]))
    return RocPoint(
        fpr=fpr,
        attained=int(accused[0]) / len(nonmembers),
        tpr=int(found[0]) / len(members),
        interval=clopper_pearson(int(found[0]), len(members), level=level),
    )
