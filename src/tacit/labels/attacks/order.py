"""What the order of rows reveals: labels that follow it are shown by the released labels of the rows nearby."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from tacit.labels.attacks.learn_prior import weigh
from tacit.labels.mechanisms.evidence import ReleasedEvidence

__all__ = ["CHANCE", "log_likelihood", "with_order"]

Array = NDArray[np.float64]

_REACHES = (3, 6, 12, 25, 50, 100, 200, 400, 1000, 3000)  # rows to either side
_LEAST_SHARE = 1e-3  # of a class nearby: an estimate of none is no proof
CHANCE = 8.0
"""Nats that the best of several ways to look may gain by chance."""


def with_order(evidence: ReleasedEvidence, prior: Array) -> Array | None:
    """Return P(label) of each row from the labels released for its neighbors too; None where the order says nothing.

    The class shares near a row are a weighted mean of unbiased estimates of its neighbors' labels, the row's own left
    out. How far a neighbor counts is chosen by the likelihood of the released labels, each under shares that it had no
    part in, and the same likelihood decides whether the order reveals more than ``prior`` does.
    """
    unbiased, present = evidence.unbiased, evidence.present
    if unbiased is None or not present.any():
        return None
    rows = np.array(np.broadcast_to(prior, evidence.likelihood.shape))
    known, common, estimates = evidence.likelihood[present], rows[present], unbiased[present]
    overall = np.maximum(estimates.mean(axis=0), _LEAST_SHARE)
    near = max(
        (
            _scaled(common * _shares(estimates, reach, overall, sums=sums) / overall)
            for reach in _REACHES
            for sums in (_window_sums, _fading_sums)
        ),
        key=lambda shares: log_likelihood((shares + common) / 2, known),
    )
    rows[present] = weigh(near, common=common, likelihood=known)
    without = weigh(common, common=common, likelihood=known)  # what calibration alone gains is not the order's
    gain = log_likelihood(rows[present], known) - log_likelihood(without, known)
    return rows if gain > CHANCE else None


def _shares(estimates: Array, reach: int, overall: Array, *, sums: Callable[[Array, int], Array]) -> Array:
    """The class shares among the rows near each row."""
    near = sums(np.concatenate([estimates, np.ones((len(estimates), 1))], axis=1), reach)
    return _scaled(np.maximum((near[:, :-1] + overall) / (near[:, -1:] + 1), _LEAST_SHARE * overall))


def _window_sums(rows: Array, reach: int) -> Array:
    """The sum over up to ``reach`` rows before and after each row."""
    total = np.concatenate([np.zeros((1, rows.shape[1])), rows.cumsum(axis=0)])
    place = np.arange(len(rows))
    return np.asarray(total[np.minimum(place + reach + 1, len(rows))] - total[np.maximum(place - reach, 0)] - rows)


def _fading_sums(rows: Array, reach: int) -> Array:
    """The sum over all other rows, weighted by e^(-distance/reach)."""
    kept = np.exp(-1 / reach)
    before, after = (lfilter([0.0, kept], [1.0, -kept], side, axis=0) for side in (rows, rows[::-1]))
    return np.asarray(before + after[::-1])


def _scaled(shares: Array) -> Array:
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def log_likelihood(prior: Array, likelihood: Array) -> float:
    """How likely the released labels are for an attacker with this prior."""
    return float(np.log(np.maximum((prior * likelihood).sum(axis=1), 1e-300)).sum())
