"""How well a model predicts classes, judged by true labels or without bias by released ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from tacit.leak.intervals import check_level
from tacit.leak.ranking import average_precision, ranking_area
from tacit.privacy.errors import InvalidInput

__all__ = ["ClassPerformance", "MetricEstimate", "judge_classes"]

Array = NDArray[np.float64]

_FLOOR = 1e-15  # of a probability in the log loss
_RESAMPLES = 200
_BINS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricEstimate:
    """A number that was measured, and an interval of what is possible."""

    value: float
    low: float
    high: float

    def percent(self) -> str:
        """Return it in percent."""
        return f"{self.value:.1%} ({self.low:.1%} to {self.high:.1%})"

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


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
        The class of the smallest share, which ``auc`` and ``average_precision`` are about.
    blind_log_loss
        Of always predicting the shares.
    calibration_error
        Root of the mean squared difference of predicted and true share of ``rare``, over ten equal parts of the rows.
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
        by = "released labels, noise taken out" if self.released else "true labels"
        largest = max(self.shares, key=lambda name: self.shares[name])
        lines = [
            f"Judged by {self.rows:,} {by}; intervals at {100 * self.level:.4g}%:",
            f"  accuracy {self.accuracy.percent()}; always guessing {largest}: {self.majority:.1%}",
        ]
        if self.auc is not None and self.average_precision is not None:
            lines.append(
                f"  AUC {self.auc} and average precision {self.average_precision} for {self.rare}, "
                f"whose share is {self.shares[self.rare]:.3g}"
            )
        lines.append(
            f"  log loss {self.log_loss} (predicting the shares: {self.blind_log_loss:.3f}), Brier score {self.brier}, "
            f"calibration error {self.calibration_error:.3f}"
        )
        return "\n".join(lines if self.is_useful else [*lines, "  Not shown to be better than guessing."])


def judge_classes(
    probabilities: ArrayLike,
    truth: ArrayLike,
    *,
    names: Sequence[object],
    rng: np.random.Generator,
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
    rng
        Resamples rows for the intervals of AUC and average precision.
    """
    p, u = np.asarray(probabilities, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    if p.shape != u.shape or p.shape[1:] != (len(names),) or not len(p):
        raise InvalidInput(f"must be rows x {len(names)} classes, got {p.shape} and {u.shape}", field="probabilities")
    level = check_level(level)
    width = float(ndtri((1 + level) / 2))
    mean = np.clip(u.mean(axis=0), 0.0, 1.0)
    shares = mean / mean.sum()
    present = np.flatnonzero(shares > 0)
    rare = int(present[np.argmin(shares[present])])
    log_loss = -(u * np.log(np.maximum(p, _FLOOR))).sum(axis=1)
    brier = (p**2).sum(axis=1) - 2 * (p * u).sum(axis=1) + 1
    auc, precision = _ranked(p[:, rare], u[:, rare], rng=rng, level=level)
    return ClassPerformance(
        rows=len(p),
        released=released,
        level=level,
        shares={str(name): float(share) for name, share in zip(names, shares, strict=True)},
        rare=str(names[rare]),
        accuracy=_mean(u[np.arange(len(p)), p.argmax(axis=1)], width, most=1.0),
        log_loss=_mean(log_loss, width, most=np.inf),
        blind_log_loss=float(-(shares[present] * np.log(shares[present])).sum()),
        brier=_mean(brier, width, most=2.0),
        auc=auc,
        average_precision=precision,
        calibration_error=_calibration_error(p[:, rare], u[:, rare]),
    )


def _mean(terms: Array, width: float, *, most: float) -> MetricEstimate:
    value = float(terms.mean())
    error = width * float(terms.std(ddof=1)) / np.sqrt(len(terms)) if len(terms) > 1 else np.inf
    low, middle, high = (float(np.clip(end, 0.0, most)) for end in (value - error, value, value + error))
    return MetricEstimate(value=middle, low=low, high=high)


def _ranked(
    scores: Array, inside: Array, *, rng: np.random.Generator, level: float
) -> tuple[MetricEstimate | None, MetricEstimate | None]:
    """AUC and average precision, with intervals from resampled rows; none where one side has no rows."""
    if inside.sum() <= 0 or (1 - inside).sum() <= 0:
        return None, None
    ones = np.ones(len(scores))
    resampled = [rng.multinomial(len(scores), ones / len(scores)).astype(np.float64) for _ in range(_RESAMPLES)]
    order = np.argsort(-scores, kind="stable")
    found = []
    for metric in (ranking_area, average_precision):
        values = [metric(scores[order], inside[order], weights[order]) for weights in (ones, *resampled)]
        value, *others = np.clip(values, 0.0, 1.0)
        low, high = np.nanquantile(others, [(1 - level) / 2, (1 + level) / 2])
        found.append(MetricEstimate(value=float(value), low=float(low), high=float(high)))
    return found[0], found[1]


def _calibration_error(scores: Array, inside: Array) -> float:
    """Root mean square over parts of the rows, the variance of each part's mean taken off."""
    parts = np.array_split(np.argsort(scores, kind="stable"), min(_BINS, max(1, len(scores) // 2)))
    squares = 0.0
    for part in parts:
        off = inside[part] - scores[part]
        n = len(part)
        squares += n * (off.sum() ** 2 - (off**2).sum()) / (n * (n - 1)) if n > 1 else 0.0
    return float(np.sqrt(max(0.0, squares / len(scores))))
