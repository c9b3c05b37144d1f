"""What retraining does to accuracy when rows are many: a recursion of one number, the signal-to-noise ratio.

A linear classifier theta of signal rho = <theta, mu>/|Sigma^(1/2) theta| is right with probability E Phi((1+u) rho).
All functions here are for Sigma = I off mu.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import norm

from papers.label_retraining.theory.margin import expect
from papers.label_retraining.theory.mixture import MarginMixture
from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count

__all__ = [
    "first_signal",
    "next_signal",
    "predict_accuracies",
    "predict_first_round",
    "retraining_gain",
    "retraining_helps",
]

Array = NDArray[np.float64]


def first_signal(mixture: MarginMixture, *, rows: int) -> float:
    """Return the signal of theta_0: gamma^2 (1-2p) E(1+u) sqrt(n/(d-1)).

    Its own spread over training sets, about gamma^2 sqrt(E(1+u)^2/d), is left out.

    References
    ----------
    docs/proofs/labels_theory.md, "The recursion".

    Examples
    --------
    >>> from papers.label_retraining.theory import DiscreteMargin
    >>> mixture = MarginMixture.isotropic(
    ...     dimension=101, separation=0.8, flip=0.475, margin=DiscreteMargin(values=(0.0,))
    ... )
    >>> round(first_signal(mixture, rows=60_000), 4)
    0.7838
    """
    _check_isotropic(mixture)
    lean = (1 - 2 * mixture.flip) * expect(mixture.margin, lambda u: 1 + u)
    return mixture.separation**2 * lean * math.sqrt(check_count(rows, name="rows") / (mixture.dimension - 1))


def next_signal(signal: float, *, mixture: MarginMixture) -> float:
    """Return the signal after one round of retraining a classifier of signal rho, for n >> d.

    rho_1 = gamma^2 E[(1+u)(2 Phi((1+u) rho) - 1)]/(sqrt(2/pi) E exp(-(1+u)^2 rho^2/2)). Where rho is small that is
    gamma^2 E(1+u)^2 rho.

    References
    ----------
    Formula sheet (k). docs/proofs/labels_theory.md, "The recursion".

    Examples
    --------
    >>> from papers.label_retraining.theory import DiscreteMargin
    >>> mixture = MarginMixture.isotropic(
    ...     dimension=101, separation=0.8, flip=0.475, margin=DiscreteMargin(values=(0.0,))
    ... )
    >>> round(next_signal(0.7838, mixture=mixture), 4)
    0.6182
    """
    _check_isotropic(mixture)
    if not signal >= 0:
        raise InvalidInput(f"signal must be >= 0, got {signal!r}")

    def lean(u: Array) -> Array:
        return np.asarray((1 + u) * (2 * ndtr((1 + u) * signal) - 1))

    spread = 2 * expect(mixture.margin, lambda u: np.asarray(norm.pdf((1 + u) * signal)))
    if spread == 0:
        return math.inf
    return mixture.separation**2 * expect(mixture.margin, lean) / spread


def predict_accuracies(mixture: MarginMixture, *, rows: int, rounds: int) -> tuple[float, ...]:
    """Predict the accuracy after training and after each round of retraining, for n >> d.

    Parameters
    ----------
    mixture
        Its covariance must be the identity off mu.
    rows
        n.
    rounds
        How often to retrain on the classifier's own predictions.

    Returns
    -------
    tuple of float
        ``rounds + 1`` accuracies.

    References
    ----------
    Formula sheet (k). docs/proofs/labels_theory.md, "The recursion".

    Examples
    --------
    >>> from papers.label_retraining.theory import UniformMargin
    >>> mixture = MarginMixture.isotropic(dimension=100, separation=0.5, flip=0.49, margin=UniformMargin(high=4.0))
    >>> [round(accuracy, 3) for accuracy in predict_accuracies(mixture, rows=60_000, rounds=2)]
    [0.845, 0.991, 1.0]
    """
    signal = first_signal(mixture, rows=rows)
    accuracies = [mixture.accuracy_at(signal)]
    for _ in range(check_count(rounds, name="rounds", least=0)):
        signal = next_signal(signal, mixture=mixture)
        accuracies.append(mixture.accuracy_at(signal))
    return tuple(accuracies)


def predict_first_round(mixture: MarginMixture, *, rows: int) -> tuple[float, float]:
    """Predict the accuracy before and after the first round of retraining, where d/n need not be small.

    With k = (d-1)/n, rho the signal of theta_0, xi = -1 with probability p and else 1, G standard normal and
    s = sign((1+u) rho + xi sqrt(k) + G), which has a row's own weight in theta_0 in it:

    rho_1 = gamma^2 E[(1+u) s]/sqrt((sqrt(k) E[xi s] + E[G s])^2 + k (1 - E[xi s]^2)).

    Exact as n and d grow together; :func:`next_signal` as k goes to 0.

    References
    ----------
    docs/proofs/labels_theory.md, "When d/n is not small".

    Examples
    --------
    >>> from papers.label_retraining.theory import UniformMargin
    >>> mixture = MarginMixture.isotropic(dimension=50, separation=0.3, flip=0.4, margin=UniformMargin(high=4.0))
    >>> [round(accuracy, 3) for accuracy in predict_first_round(mixture, rows=300)]
    [0.654, 0.636]
    """
    rho, p, u = first_signal(mixture, rows=rows), mixture.flip, mixture.margin
    k = (mixture.dimension - 1) / rows
    own, chances = math.sqrt(k) * np.array([1.0, -1.0]), np.array([1 - p, p])

    def at(a: Array) -> Array:
        return np.asarray(a[:, None] * rho + own)

    weighted = expect(u, lambda u: (1 + u) * ((2 * ndtr(at(1 + u)) - 1) @ chances))
    kept = expect(u, lambda u: (2 * ndtr(at(1 + u)) - 1) @ (chances * [1.0, -1.0]))
    along = math.sqrt(k) * kept + expect(u, lambda u: 2 * norm.pdf(at(1 + u)) @ chances)
    signal = mixture.separation**2 * weighted / math.sqrt(along**2 + k * (1 - kept**2))
    return mixture.accuracy_at(rho), mixture.accuracy_at(signal)


def retraining_gain(mixture: MarginMixture) -> float:
    """Return gamma^2 E(1+u)^2, the factor by which retraining multiplies a weak signal.

    Examples
    --------
    >>> from papers.label_retraining.theory import UniformMargin
    >>> for separation in (0.5, 0.3):
    ...     margin = UniformMargin(high=4.0)
    ...     mixture = MarginMixture.isotropic(dimension=50, separation=separation, flip=0.4, margin=margin)
    ...     print(round(retraining_gain(mixture), 3))
    2.583
    0.93
    """
    _check_isotropic(mixture)
    return mixture.separation**2 * expect(mixture.margin, lambda u: (1 + u) ** 2)


def retraining_helps(mixture: MarginMixture, *, signal: float | None = None) -> bool:
    """Say whether retraining raises accuracy: for a weak signal if and only if gamma^2 E(1+u)^2 > 1.

    Parameters
    ----------
    mixture
        Its covariance must be the identity off mu.
    signal
        The classifier's signal; None for one close to 0. A strong signal can gain where a weak one loses.

    References
    ----------
    Formula sheet (k); in place of Das et al. (2024), Remark 4.10, which is false.

    Examples
    --------
    >>> from papers.label_retraining.theory import DiscreteMargin
    >>> mixture = MarginMixture.isotropic(
    ...     dimension=100, separation=0.8, flip=0.475, margin=DiscreteMargin(values=(0.0,))
    ... )
    >>> retraining_helps(mixture), retraining_helps(mixture, signal=0.8), retraining_helps(mixture, signal=2.0)
    (False, False, True)
    """
    if signal is None:
        return retraining_gain(mixture) > 1
    return next_signal(signal, mixture=mixture) > signal


def _check_isotropic(mixture: MarginMixture) -> None:
    if mixture.covariance is not None:
        raise InvalidInput("covariance must be None, the identity off the mean: the recursion is for that case")
