"""The privacy curve of Gaussian noise: delta as a function of epsilon, never understated."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from tacit.privacy.loss.search import as_delta, least_enough, neat_up
from tacit.privacy.loss.tails import bell_tail, bell_total, context, number
from tacit.privacy.rounding import check_count, check_delta, check_epsilon, exact

__all__ = ["discrete_gaussian_delta", "discrete_gaussian_epsilon", "gaussian_scale"]


@lru_cache(maxsize=4096)
def discrete_gaussian_delta(scale: Fraction, *, epsilon: float, sensitivity: int) -> float:
    """Return the least delta of discrete Gaussian noise at ``epsilon``, rounded up.

    delta = P(Y > epsilon s^2/D - D/2) - e^epsilon P(Y > epsilon s^2/D + D/2), Y the noise, s its scale, D the
    sensitivity. A query that moves by less than D leaks less.

    References
    ----------
    Canonne, Kamath and Steinke (2020), Theorem 7. Proof: docs/proofs/discrete_gaussian.md.
    """
    eps, D = exact(check_epsilon(epsilon, zero=True)), check_count(sensitivity, name="sensitivity")
    first = math.floor(eps * scale**2 / D - Fraction(D, 2)) + 1
    E = context().exp(number(eps))
    near, error_near = bell_tail(first, scale)
    far, error_far = bell_tail(first + D, scale)
    total, error_total = bell_total(scale)
    return as_delta((near + error_near - E * (far - error_far)) / (total - error_total))


@lru_cache(maxsize=1024)
def discrete_gaussian_epsilon(scale: Fraction, *, delta: float, sensitivity: int) -> float:
    """Return the least epsilon of discrete Gaussian noise at ``delta``, rounded up."""
    target = check_delta(delta, zero=False)

    def enough(epsilon: float) -> bool:
        return discrete_gaussian_delta(scale, epsilon=epsilon, sensitivity=sensitivity) <= target

    if enough(0.0):
        return 0.0
    shift = float(sensitivity / scale)
    return neat_up(least_enough(enough, start=shift**2 / 2 + shift * math.sqrt(2 * math.log(1 / target))))


def gaussian_scale(epsilon: float, *, delta: float, sensitivity: float = 1.0) -> float:
    """Return the least scale of real Gaussian noise for (epsilon, delta): a number to compare with, not a sampler.

    Floating-point Gaussian noise has no Guarantee; :class:`DiscreteGaussian` does.

    References
    ----------
    Balle and Wang (2018), Theorem 8: Phi(D/2s - epsilon s/D) - e^epsilon Phi(-D/2s - epsilon s/D) <= delta.
    """
    from scipy.optimize import brentq  # half a second of import, with the next, that few noises need
    from scipy.special import log_ndtr

    eps, target = check_epsilon(epsilon), check_delta(delta, zero=False)

    def excess(log_s: float) -> float:
        s = math.exp(log_s)
        near, far = log_ndtr(0.5 / s - eps * s), log_ndtr(-0.5 / s - eps * s)
        return float(near + math.log(-math.expm1(min(eps + far - near, -1e-300)))) - math.log(target)

    return check_epsilon(sensitivity, name="sensitivity") * math.exp(brentq(excess, -50.0, 50.0, xtol=1e-14))
