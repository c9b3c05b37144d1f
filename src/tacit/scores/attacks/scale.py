"""A channel as a pair of scales: integer weights on rows, an integer back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tacit.privacy.errors import InvalidInput
from tacit.scores.attacks.channel import LossChannel, largest_step
from tacit.scores.attacks.design import Labels
from tacit.scores.losses.precision import Numbers

__all__ = ["WeighingScale", "weighing_scale"]

_MARGIN = 1.0025  # differences are multiples of u up to rounding of the predictions: this leaves room for it
_DEVIATION = 0.001  # of u, over all rows


@dataclass(frozen=True, slots=True, kw_only=True)
class WeighingScale:
    """How a channel weighs one digit of the labels: the unit, and the integer weights -low..high it allows."""

    channel: LossChannel
    digits: tuple[int, ...]
    unit: float
    low: int
    high: int

    def predictions(self, rows: Labels, weights: Labels) -> Numbers:
        """Return predictions that weigh ``rows`` with ``weights`` and leave all others neutral."""
        loss, precision = self.channel.loss, self.channel.precision
        predictions = loss.neutral(self.channel.rows, precision=precision)
        offsets = self.unit * weights[:, None] * np.array(self.digits, dtype=np.float64)
        predictions[rows] = loss.prediction_for(offsets, precision=precision)
        return predictions

    def total(self, answer: float, predictions: Numbers) -> int:
        """Return the weighted sum of digits that an answer represents."""
        return round(self.excess(answer, predictions) / self.unit)

    def excess(self, answer: float, predictions: Numbers) -> float:
        """Return what the rows cost beyond digit 0 for each: the unit times the weighted sum of digits."""
        table = self.channel.loss.row_losses(predictions, precision=self.channel.precision)
        base = table[:, self.digits.index(0)].tolist()
        total = self.channel.total(answer)
        high = float(total)
        return math.fsum([high, float(total - Fraction(high)), *(-x for x in base)])


@lru_cache(maxsize=256)
def weighing_scale(channel: LossChannel, *, digits: tuple[int, ...]) -> WeighingScale:
    """Return the scale of a channel for one digit of the labels."""
    reach = channel.reach(unknown=channel.rows)
    unit = channel.unit(unknown=channel.rows, asked=reach * channel.rows) * _MARGIN
    top = max(digits)
    turned = tuple(top - digit for digit in digits)
    up = largest_step(channel.loss, digits, reach=reach, precision=channel.precision)
    down = largest_step(channel.loss, turned, reach=reach, precision=channel.precision)
    high = int(_faithful(channel, digits, up, unit) / unit)
    if high == 0:
        raise InvalidInput(
            f"answers must reveal one row's label: under {channel.answers} sums of the losses of {channel.rows} rows "
            f"show from {unit:.3g} on, and one row of {channel.loss} changes them by at most {up:.3g}"
        )
    low = min(high, int(_faithful(channel, turned, down, unit) / unit))
    return WeighingScale(channel=channel, digits=digits, unit=unit, low=low, high=high)


def _faithful(channel: LossChannel, digits: tuple[int, ...], limit: float, unit: float) -> float:
    """Return the largest step up to which predictions carry their differences to a fraction of ``unit``.

    A probability next to 1 is stored coarsely, so its complement's loss is not what was asked for.
    """
    steps = np.linspace(0, limit, 513)[1:] * (1 - 1e-12)
    wanted = steps[:, None] * np.array(digits, dtype=np.float64)
    predictions = channel.loss.prediction_for(wanted, precision=channel.precision)
    table = channel.loss.row_losses(predictions, precision=channel.precision)
    differences = (table - table[:, [digits.index(0)]]).astype(np.float64)
    off = np.abs(differences - wanted).max(axis=1)
    bad = np.flatnonzero(off > _DEVIATION * unit / channel.rows)
    return float(steps[bad[0] - 1]) if bad.size and bad[0] else (0.0 if bad.size else float(steps[-1]))
