"""Epsilon of DP-SGD from below: the whole trade-off curve of its steps is tested, not one point of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from tacit.leak.one_run_gaussian import is_refuted
from tacit.privacy.loss import SampledGaussianLoss, distribution_of
from tacit.privacy.trade_off import trade_off_curve

__all__ = ["epsilon_by_noise"]

_LESS, _MORE = 1 / 8, 64.0  # noise from this share of the stated to this multiple is tried
_HALVINGS = 12  # of nine octaves: to 0.2%


def epsilon_by_noise(
    right: ArrayLike, guesses: ArrayLike, pairs: int, *, loss: SampledGaussianLoss, delta: float, level: float = 0.95
) -> float:
    """Bound the epsilon of noisy steps from below by the right guesses of one run, among all amounts of noise.

    Each of m pairs of records has a fair coin that decides which of the two is trained on; of r pairs, r fixed before
    the run, v are guessed right. The curve g_s of steps with noise s refutes s if so many right guesses have a
    probability below 1 - level under g_s. The bound is the accountant's epsilon of the least s that is refuted.

    Holds for mechanisms with the sampling and the steps of ``loss`` and *some* noise. It exceeds the epsilon of
    ``loss`` only if the curve of ``loss`` itself is refuted, which needs no such assumption. Of several counts the best
    is taken, and they share the error.

    References
    ----------
    Mahloujifar, Melis and Chaudhuri (2025), Algorithm 3; docs/proofs/epsilon_lower_bounds.md, "The curve of DP-SGD".
    """
    counts = [
        np.asarray(count, dtype=np.float64) for count in np.broadcast_arrays(np.atleast_1d(right), guesses, pairs)
    ]
    alpha = (1 - level) / len(counts[0])

    def refuted(noise: float) -> bool:
        curve = trade_off_curve(distribution_of(replace(loss, noise=noise)))
        return is_refuted(curve, *counts, alpha=alpha)

    low, high = np.log(loss.noise * np.array([_LESS, _MORE]))
    if not refuted(float(np.exp(high))):
        return 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if refuted(float(np.exp(middle))) else (middle, high)
    return replace(loss, noise=float(np.exp(high))).epsilon_at(delta)
