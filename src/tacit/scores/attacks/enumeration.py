"""The exact posterior of a few labels given all answers: Bayes' rule over all vectors of labels."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tacit.scores.attacks.posterior import ScoreReading

__all__ = ["enumerated_posterior"]

_VECTORS = 2**16
_OFF = 1e-6  # by which a sum may miss an answer without noise, relative to its size

Floats = NDArray[np.float64]


def enumerated_posterior(readings: list[ScoreReading], prior: Floats, losses: Floats) -> Floats | None:
    """Return the probability of every label given all answers; None for too many vectors, or if none fits.

    Rows whose costs are known are left out. In few rows the sum of the others is far from Gaussian, so message passing
    is not close; here nothing is approximated.
    """
    flat = np.ptp(losses, axis=1) == 0
    choices = np.array([reading.choice for reading in readings], dtype=np.int64)
    rows = np.flatnonzero(~flat[choices].all(axis=0))
    if len(rows) * math.log(prior.shape[1]) > math.log(_VECTORS) + 1e-9:
        return None
    known = np.setdiff1d(np.arange(len(prior)), rows)
    logs = _sums(np.log(prior[rows]))
    for reading, choice in zip(readings, choices, strict=True):
        total = _sums(losses[choice[rows]]) + losses[choice[known], 0].sum()
        logs += _log_likelihood(reading, total)
    if not np.isfinite(logs.max()):
        return None
    weights, result = np.exp(logs - logs.max()), prior.copy()
    shape = (prior.shape[1],) * len(rows)
    for place, row in enumerate(rows):
        others: Any = tuple(axis for axis in range(len(rows)) if axis != place)
        result[row] = weights.reshape(shape).sum(axis=others) / weights.sum()
    return result


def _sums(of_rows: Iterable[Floats]) -> Floats:
    """The sum over rows of each vector of labels."""
    return reduce(lambda sums, row: np.add.outer(sums, row).ravel(), of_rows, np.zeros(1))


def _log_likelihood(reading: ScoreReading, total: Floats) -> Floats:
    """Of each sum: Laplace noise outside the answer's interval."""
    away = np.maximum(np.maximum(reading.low - total, total - reading.high), 0.0)
    if reading.scale > 0:
        return np.asarray(-away / reading.scale)
    return np.where(away <= _OFF * (1 + np.abs(total)), 0.0, -np.inf)
