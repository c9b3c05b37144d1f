"""How well a model predicts classes, judged by true labels or without bias by released ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from tacit.leak.intervals import check_level, clopper_pearson
from tacit.leak.ranking import average_precision, ranking_area
from tacit.leak.ratio import RatioEstimate
from tacit.privacy.errors import InvalidInput

__all__ = ["ClassPerformance", "MetricEstimate", "judge_classes"]

Array = NDArray[np.float64]

_FLOOR = 1e-15  # of a probability in the log loss
_BINS = 10
_FEW = 20  # rows of a class, or of the others, below which no interval of its ranks means anything


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricEstimate:
    """A number that was measured, and an interval of what is possible."""

    value: float
    low: float
    high: float

    @classmethod
    def within(cls, value: float, margin: float, *, least: float = 0.0, most: float = np.inf) -> MetricEstimate:
        """Clip a value and its interval to what is possible."""
        return cls.clipped(value, (value - margin, value + margin), least=least, most=most)

    @classmethod
    def clipped(cls, value: float, ends: tuple[float, float], *, least: float = 0.0, most: float) -> MetricEstimate:
        """Clip a value and the ends of its interval to what is possible."""
        middle, low, high = (float(np.clip(end, least, most)) for end in (value, *ends))
        return cls(value=middle, low=low, high=high)

    def __format__(self, spec: str) -> str:
        return f"{self.value:{spec}} ({self.low:{spec}} to {self.high:{spec}})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassPerformance:
    """What a reader needs to judge a classifier: base rates, what guessing has, and the usual numbers with intervals.

    Parameters
    ----------
    rows, released
        How many rows it was judged by, and whether their labels are released ones.
    shares
        Of each class among these rows.
    rare
        The rarest class that has at least 20 rows, with at least 20 rows outside it; released labels must show so
        beyond their noise. ``auc`` and ``average_precision`` are about it, and are None without such a class.
    blind_log_loss
        Of always predicting the shares.
    calibration_error
        Root of the mean squared difference of predicted and true share of ``rare``, over ten parts of about equal size.
    """

    rows: int
    released: bool
    level: float
    shares: dict[str, float]
    rare: str
    accuracy: MetricEstimate
    log_loss: MetricEstimate
    blind_log_loss: float
    brier: MetricEstimate
    auc: MetricEstimate | None
    average_precision: MetricEstimate | None
    calibration_error: float

    @property
    def majority(self) -> float:
        """The accuracy of always guessing the largest class."""
        return max(self.shares.values())

    @property
    def is_useful(self) -> bool:
        """Whether the model is better than guessing, by accuracy or by rank."""
        return self.accuracy.low > self.majority or (self.auc is not None and self.auc.low > 0.5)

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as plain JSON."""
        return {**asdict(self), "majority": self.majority}

    def __str__(self) -> str:
        by = "released labels, noise taken out" if self.released else "true labels, outside the guarantee"
        largest = max(self.shares, key=self.shares.__getitem__)
        lines = [
            f"Judged by {self.rows:,} {by}; intervals at {100 * self.level:.4g}%:",
            f"  accuracy {self.accuracy:.1%}; always guessing {largest}: {self.majority:.1%}",
        ]
        if self.auc is not None:
            lines.append(f"  AUC of {self.rare}: {self.auc:.3f}; guessing: 0.5")
        if self.average_precision is not None:
            share = self.shares[self.rare]
            lines.append(f"  average precision of {self.rare}: {self.average_precision:.3f}; guessing: {share:.3g}")
        lines += [
            f"  log loss {self.log_loss:.3f}; predicting the shares: {self.blind_log_loss:.3f}",
            f"  Brier score {self.brier:.3f}; calibration error {self.calibration_error:.3f}",
        ]
        return "\n".join(lines if self.is_useful else [*lines, "  Not shown to be better than guessing."])


def judge_classes(
    probabilities: ArrayLike,
    truth: ArrayLike,
    *,
    names: Sequence[object],
    released: bool = False,
    level: float = 0.95,
) -> ClassPerformance:
    """Judge predicted probabilities by one-hot labels, or by unbiased estimates of them.

    All sums are linear in ``truth``, or bilinear in two different rows, so that unbiased estimates give unbiased
    numerators and denominators. What they put outside the possible range is clipped at the end.

    Parameters
    ----------
    probabilities, truth
        (rows, classes); a row of ``truth`` is one-hot, or an unbiased estimate of one-hot such as T^-1 gives.
    """
    p, u = np.asarray(probabilities, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    if p.shape != u.shape or p.shape[1:] != (len(names),) or not len(p):
        raise InvalidInput(f"must be rows x {len(names)} classes, got {p.shape} and {u.shape}", field="probabilities")
    level = check_level(level)
    width = float(ndtri((1 + level) / 2))
    mean = np.clip(u.mean(axis=0), 0.0, 1.0)
    shares = mean / mean.sum() if mean.any() else np.full(len(names), 1 / len(names))
    present = np.flatnonzero(shares > 0)
    counts = u.sum(axis=0)
    # noise must not choose the class: its count would then be the one that noise made too large
    sure = width * np.sqrt(len(u)) * u.std(axis=0) if released else 0.0
    judged = np.flatnonzero((counts - sure >= _FEW) & (len(u) - counts - sure >= _FEW))
    rare = int(min(judged if len(judged) else present, key=lambda code: shares[code]))
    log_loss = -(u * np.log(np.maximum(p, _FLOOR))).sum(axis=1)
    brier = (p**2).sum(axis=1) - 2 * (p * u).sum(axis=1) + 1
    return ClassPerformance(
        rows=len(p),
        released=released,
        level=level,
        shares={str(name): float(share) for name, share in zip(names, shares, strict=True)},
        rare=str(names[rare]),
        accuracy=_accuracy(u[np.arange(len(p)), p.argmax(axis=1)], width, released=released, level=level),
        log_loss=estimate_mean(log_loss, width, most=-np.log(_FLOOR)),
        blind_log_loss=float(-(shares[present] * np.log(shares[present])).sum()),
        brier=estimate_mean(brier, width, most=2.0),
        auc=_ranked(ranking_area, p[:, rare], u[:, rare], width) if len(judged) else None,
        average_precision=_ranked(average_precision, p[:, rare], u[:, rare], width) if len(judged) else None,
        calibration_error=_calibration_error(p[:, rare], u[:, rare]),
    )


def estimate_mean(terms: Array, width: float, *, most: float = np.inf) -> MetricEstimate:
    """Estimate a mean that is at least 0 and at most ``most``, ``width`` standard errors to both sides."""
    return MetricEstimate.within(float(terms.mean()), width * standard_error(terms), most=most)


def standard_error(terms: Array) -> float:
    """Return that of the mean of independent terms."""
    return float(terms.std(ddof=1) / np.sqrt(len(terms))) if len(terms) > 1 else np.inf


def _accuracy(right: Array, width: float, *, released: bool, level: float) -> MetricEstimate:
    if released:
        return estimate_mean(right, width, most=1.0)
    exact = clopper_pearson(int(right.sum()), len(right), level=level)
    return MetricEstimate(value=float(right.mean()), low=exact.low, high=exact.high)


def _ranked(
    metric: Callable[[Array, Array], RatioEstimate], scores: Array, inside: Array, width: float
) -> MetricEstimate:
    found = metric(scores, inside)
    return MetricEstimate.clipped(found.value, found.interval(width), most=1.0)


def _calibration_error(scores: Array, inside: Array) -> float:
    """Root mean square over parts of the rows, the variance of each part's mean subtracted."""
    # equal predictions stay together: what splits them could be the order of the rows
    part = np.searchsorted(np.unique(np.quantile(scores, np.arange(1, _BINS) / _BINS)), scores, side="right")
    off = inside - scores
    rows = np.bincount(part)
    pairs = np.bincount(part, off) ** 2 - np.bincount(part, off**2)
    return float(np.sqrt(max(0.0, (pairs / np.maximum(rows - 1, 1)).sum() / len(scores))))
