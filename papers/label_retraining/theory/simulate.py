"""Accuracies of training and retraining drawn from their exact law, in time and memory that do not grow with d."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from papers.label_retraining.theory.mixture import MarginMixture
from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count

__all__ = ["simulate_accuracies"]

Array = NDArray[np.float64]


def simulate_accuracies(
    mixture: MarginMixture, *, rows: int, draws: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw the accuracies of theta_0 and theta_1 over training sets, without drawing the features.

    Only n + 2 numbers matter: the noise of each row along that of theta_0, and two chi-square variables for the rest
    (Sigma = I off mu). So n = 10^7 with d = 400 takes seconds.

    Parameters
    ----------
    mixture
        Its covariance must be the identity off mu, its dimension at least 3.
    rows
        n.
    draws
        Training sets.
    rng
        Draws them.

    Returns
    -------
    array
        ``draws`` rows: accuracy before, accuracy after.

    References
    ----------
    docs/proofs/labels_theory.md, "An exact simulation".

    Examples
    --------
    >>> from papers.label_retraining.theory import UniformMargin
    >>> mixture = MarginMixture.isotropic(dimension=50, separation=0.5, flip=0.4, margin=UniformMargin(high=4.0))
    >>> accuracies = simulate_accuracies(mixture, rows=300, draws=200, rng=np.random.default_rng(0))
    >>> accuracies.mean(axis=0).round(2)
    array([0.83, 0.95])
    """
    n, times = check_count(rows, name="rows"), check_count(draws, name="draws")
    if mixture.covariance is not None or mixture.dimension < 3:
        raise InvalidInput("covariance must be None, the identity off the mean, and dimension at least 3")
    signals = [_draw_signals(mixture, n, rng) for _ in range(times)]
    return np.array([[mixture.accuracy_at(rho) for rho in pair] for pair in signals])


def _draw_signals(mixture: MarginMixture, n: int, rng: np.random.Generator) -> tuple[float, float]:
    xi = np.where(rng.random(n) < mixture.flip, -1.0, 1.0)
    a = 1 + mixture.margin.draw(n, rng=rng)
    gamma, d = mixture.separation, mixture.dimension
    beta, length = float(xi @ a), math.sqrt(rng.chisquare(d - 1))  # |h|, h = sum xi_i z_i/sqrt(n)
    along = _off(rng.standard_normal(n), xi) + xi * (length / math.sqrt(n))  # <z_i, h>/|h|
    s = np.where(a * (gamma**2 * beta) + along * (math.sqrt(n) * length) >= 0, 1.0, -1.0)
    # theta_1 along mu, along h, and off both
    forward, side = gamma * float(s @ a) / n, float(s @ along) / n
    rest = float(np.linalg.norm(_off(s, xi))) * math.sqrt(rng.chisquare(d - 2)) / n
    return gamma**2 * beta / (math.sqrt(n) * length), gamma * forward / math.hypot(side, rest)


def _off(vector: Array, xi: Array) -> Array:
    """The part of a vector orthogonal to xi."""
    return np.asarray(vector - xi * (float(xi @ vector) / len(xi)))
