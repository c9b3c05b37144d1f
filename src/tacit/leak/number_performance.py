"""How well a model predicts numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from tacit.leak.intervals import check_level
from tacit.leak.performance import MetricEstimate, estimate_mean
from tacit.leak.ratio import RatioEstimate
from tacit.privacy.errors import InvalidInput

__all__ = ["NumberPerformance", "judge_numbers"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberPerformance:
    """What a reader needs to judge a regressor: its errors beside those of always predicting the mean, with intervals.

    Parameters
    ----------
    rows, released
        How many rows it was judged by, and whether their labels are released ones.
    noise_included
        Whether the noise of released labels is part of the errors.
    r2
        The share of the variance that the model explains, below 0 if it is worse than the mean; None where labels do
        not vary.
    mean_absolute_error
        None where the noise was taken out, which is possible for squares only.
    blind_root_mean_squared_error, blind_mean_absolute_error
        Of always predicting the mean of these rows.
    """

    rows: int
    released: bool
    noise_included: bool
    level: float
    r2: MetricEstimate | None
    root_mean_squared_error: MetricEstimate
    mean_absolute_error: MetricEstimate | None
    blind_root_mean_squared_error: float
    blind_mean_absolute_error: float | None

    @property
    def is_useful(self) -> bool:
        """Whether the model is better than always predicting the mean."""
        return self.r2 is not None and self.r2.low > 0

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as plain JSON."""
        return asdict(self)

    def __str__(self) -> str:
        noise = "included" if self.noise_included else "taken out"
        by = f"released numbers, noise {noise}" if self.released else "true labels, outside the guarantee"
        lines = [
            f"Judged by {self.rows:,} {by}; intervals at {100 * self.level:.4g}%:",
            f"  R2 {self.r2:.3f}" if self.r2 is not None else "  R2 undefined: the labels do not vary",
            f"  root mean squared error {self.root_mean_squared_error:.4g}; "
            f"always predicting the mean: {self.blind_root_mean_squared_error:.4g}",
        ]
        if self.mean_absolute_error is not None:
            lines.append(
                f"  mean absolute error {self.mean_absolute_error:.4g}; "
                f"always predicting the mean: {self.blind_mean_absolute_error:.4g}"
            )
        return "\n".join(lines if self.is_useful else [*lines, "  Not shown to be better than predicting the mean."])


def judge_numbers(
    predicted: ArrayLike,
    truth: ArrayLike,
    *,
    squares: ArrayLike | None = None,
    released: bool = False,
    level: float = 0.95,
) -> NumberPerformance:
    """Judge predicted numbers by labels; intervals are those of linearized means over rows.

    Parameters
    ----------
    truth, squares
        Labels; or unbiased estimates of labels and of their squares, which take the noise out of squared errors:
        (y - p)^2 is linear in y and y^2.
    """
    p, y = np.asarray(predicted, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    if p.shape != y.shape or p.ndim != 1 or len(y) < 2:
        raise InvalidInput(f"must have a number for each of two labels or more, got {p.shape}", field="predicted")
    width = float(ndtri((1 + check_level(level)) / 2))
    noise = np.zeros_like(y) if squares is None else y**2 - np.asarray(squares, dtype=np.float64)
    errors, blind = ((guess - y) ** 2 - noise for guess in (p, y.mean()))
    mean = estimate_mean(errors, width)
    return NumberPerformance(
        rows=len(y),
        released=released,
        noise_included=released and squares is None,
        level=level,
        r2=_explained(errors, blind, width),
        root_mean_squared_error=MetricEstimate(value=mean.value**0.5, low=mean.low**0.5, high=mean.high**0.5),
        mean_absolute_error=estimate_mean(np.abs(p - y), width) if squares is None else None,
        blind_root_mean_squared_error=max(0.0, float(blind.mean())) ** 0.5,
        blind_mean_absolute_error=float(np.abs(y.mean() - y).mean()) if squares is None else None,
    )


def _explained(squares: Array, blind: Array, width: float) -> MetricEstimate | None:
    """1 less the ratio of two means, and the standard error of the linearized ratio."""
    if blind.mean() <= 0:
        return None
    ratio = RatioEstimate(above=float(squares.sum()), below=float(blind.sum()), moves_above=squares, moves_below=blind)
    low, high = ratio.interval(width)
    return MetricEstimate.clipped(1 - ratio.value, (1 - high, 1 - low), least=-np.inf, most=1.0)
