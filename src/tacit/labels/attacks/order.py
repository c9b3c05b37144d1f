"""What the order of rows reveals: labels that follow it are shown by the released labels of the rows nearby."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

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
_SCRAMBLED = 19  # orders without information, which must not gain as much
_ROWS_SCRAMBLED = 400_000  # in all of these, but in one at least


def with_order(evidence: ReleasedEvidence, prior: Array) -> Array | None:
    """Return P(label) of each row from the labels released for its neighbors too; None where the order says nothing.

    The class shares near a row are a weighted mean of unbiased estimates of its neighbors' labels, the row's own left
    out. How far a neighbor counts is chosen by the likelihood of the released labels, each under shares that it had no
    part in, and the same likelihood decides whether the order reveals more than ``prior`` does: more than what it gains
    from calibration alone, and from the shares near other rows, which correct a prior that is wrong for all of them.
    """
    unbiased, present = evidence.unbiased, evidence.present
    if unbiased is None or not present.any():
        return None
    rows = np.array(np.broadcast_to(prior, evidence.likelihood.shape))
    known, common, estimates = evidence.likelihood[present], rows[present], unbiased[present]
    overall = np.maximum(estimates.mean(axis=0), _LEAST_SHARE)
    near = max(
        (
            _shares(estimates, reach, overall, sums=sums) / overall
            for reach in _REACHES
            for sums in (_window_sums, _fading_sums)
        ),
        key=lambda change: log_likelihood((_scaled(common * change) + common) / 2, known),
    )
    rows[present] = weigh(_scaled(common * near), common=common, likelihood=known)
    needed = log_likelihood(rows[present], known) - CHANCE

    def explains(change: Array) -> bool:
        return log_likelihood(weigh(_scaled(common * change), common=common, likelihood=known), known) >= needed

    without = chain([np.ones_like(near)], (near[order] for order in _scrambled(len(near))))
    return None if any(map(explains, without)) else rows


def _scrambled(rows: int) -> Iterator[NDArray[np.int64]]:
    """Yield orders of the rows in which hardly any row keeps its neighbors."""
    rng = np.random.default_rng(rows)  # the same ones every time
    return (rng.permutation(rows) for _ in range(min(_SCRAMBLED, max(1, _ROWS_SCRAMBLED // rows))))


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
