"""An additive loss seen from outside: what one answer reveals about the sum of the rows' losses."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count
from tacit.scores.attacks.answers import HostAnswers
from tacit.scores.losses import FLOAT64, InvertibleLoss, LossReduction, NumberSystem
from tacit.scores.losses.precision import Numbers
from tacit.scores.metrics import Metric, RevealedTotal
from tacit.scores.policies import Policy

__all__ = ["LossChannel", "largest_step", "revealed_by"]

_INSIDE = 1 - 1e-8  # losses let rounding a little beyond the clip pass, where digits are no longer evenly spaced
_UNLIMITED = 16  # where nothing is clipped, a row's difference may be this many times all other losses


@dataclass(frozen=True, slots=True, kw_only=True)
class LossChannel:
    """A loss over ``rows`` rows whose answers have an error; totals are sums of row losses."""

    loss: InvertibleLoss
    rows: int
    answers: HostAnswers = field(default_factory=HostAnswers)
    root: bool = False

    def __post_init__(self) -> None:
        check_count(self.rows, name="rows")

    @classmethod
    def of(cls, metric: Metric, *, rows: int, policy: Policy | HostAnswers | None = None) -> LossChannel:
        """Return the channel of a metric that is a mean of row losses, or its root."""
        revealed = revealed_by(metric).row_losses
        if revealed is None:
            raise InvalidInput(f"must be a mean of row losses for a channel, got {metric}", field="metric")
        return cls(loss=revealed.loss, rows=rows, answers=HostAnswers.of(policy), root=revealed.root)

    @property
    def precision(self) -> NumberSystem:
        """The number system of the predictions."""
        return self.answers.precision

    @property
    def neutral_loss(self) -> float:
        """What a row costs that is not asked about, whatever its label."""
        return _neutral_loss(self.loss)

    def reach(self, *, unknown: int) -> float:
        """Return the largest loss difference to plan with: R, or a multiple of the rest where R is infinite."""
        reach = self.loss.difference_range(precision=self.precision)
        return reach if math.isfinite(reach) else _UNLIMITED * (1 + self.neutral_loss * unknown)

    def unit(self, *, unknown: int, asked: float | None = None) -> float:
        """Return u = twice the error of a total while ``unknown`` rows are not known: sums must differ by it.

        Parameters
        ----------
        asked
            The most that asked rows may cost beyond; default: twice the largest difference, which digits
            stay below.
        """
        reach = self.reach(unknown=unknown)
        beyond = 2 * reach if asked is None else asked
        largest = (self.neutral_loss * unknown + beyond) / self._terms
        if not self.root:
            return 2 * self._terms * self.answers.error(largest=largest)
        # Of a row of squared error none costs more than the reach, so neither does the mean.
        root = math.sqrt(min(largest, reach))
        error = self.answers.error(largest=root)
        return 2 * self._terms * error * (2 * root + error)

    def total(self, answer: float) -> Fraction:
        """Return the sum of row losses that an answer represents, exactly."""
        exact = Fraction(answer)
        return self._terms * (exact * exact if self.root else exact)

    def score(self, labels: NDArray[np.int64], predictions: Numbers) -> float:
        """Return the score the host would compute for these labels."""
        score = float(self.loss.score(labels, predictions, precision=self.precision))
        return math.sqrt(score) if self.root else score

    @property
    def _terms(self) -> int:
        return self.rows if self.loss.reduction is LossReduction.MEAN else 1


def revealed_by(metric: Metric) -> RevealedTotal:
    """Return what a metric reveals, or raise where no attack is known."""
    if metric.reveals is None:
        raise InvalidInput(f"must be one that an attack is known for, got {metric!r}", field="metric")
    return metric.reveals


def largest_step(
    loss: InvertibleLoss, digits: tuple[int, ...], *, reach: float, precision: NumberSystem = FLOAT64
) -> float:
    """Return the largest s for which a row with losses constant + s digits[y] exists."""
    top = reach / max(digits)
    if math.isinf(loss.difference_range(precision=precision)):
        return top
    if loss.classes == 2:
        return loss.difference_range(precision=precision)
    return _bisect(loss, digits, top, precision)


@lru_cache(maxsize=1024)
def _bisect(loss: InvertibleLoss, digits: tuple[int, ...], top: float, precision: NumberSystem) -> float:
    low, high = 0.0, top
    if _fits(loss, digits, top, precision):
        low = top
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if _fits(loss, digits, middle, precision) else (low, middle)
    return low * _INSIDE


def _fits(loss: InvertibleLoss, digits: tuple[int, ...], step: float, precision: NumberSystem) -> bool:
    try:
        loss.prediction_for(step * np.array([digits], dtype=np.float64), precision=precision)
    except InvalidInput:
        return False
    return True


@lru_cache(maxsize=256)
def _neutral_loss(loss: InvertibleLoss) -> float:
    return float(loss.row_losses(loss.neutral(1)).max())
