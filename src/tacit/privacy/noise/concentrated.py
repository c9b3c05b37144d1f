"""Zero-concentrated privacy, rho, and the (epsilon, delta) that it implies, for noise on vectors."""

from __future__ import annotations

import math
from fractions import Fraction

from tacit.privacy.loss.search import PRECISE, as_delta, least_enough, neat_up
from tacit.privacy.loss.tails import MARGIN, context, number
from tacit.privacy.rounding import check_delta, check_epsilon, exact

__all__ = ["zcdp_delta", "zcdp_epsilon", "zcdp_rho"]


def zcdp_delta(rho: Fraction, *, epsilon: float) -> float:
    """Return a delta that rho-zero-concentrated privacy implies at ``epsilon``, rounded up.

    The least over orders a > 1 of e^((a-1)(a rho - epsilon)) / (a-1) (1 - 1/a)^a; every order's is valid, so the
    search for the best one need not be exact.

    References
    ----------
    Canonne, Kamath and Steinke (2020), Corollary 13; Bun and Steinke (2016).
    """
    eps = check_epsilon(epsilon, zero=True)
    a = number(Fraction(_best_order(float(rho), eps)))
    mp = context()
    exponent = (a - 1) * (a * number(rho) - number(exact(eps))) + a * mp.log1p(-1 / a)
    return as_delta(mp.exp(exponent) / (a - 1) * (1 + MARGIN))


def zcdp_epsilon(rho: Fraction, *, delta: float) -> float:
    """Return an epsilon that rho-zero-concentrated privacy implies at ``delta``, rounded up."""
    target = check_delta(delta, zero=False)

    def enough(epsilon: float) -> bool:
        return zcdp_delta(rho, epsilon=epsilon) <= target

    start = float(rho) + 2 * math.sqrt(float(rho) * math.log(1 / target))
    return 0.0 if enough(0.0) else neat_up(least_enough(enough, start=start))


def zcdp_rho(epsilon: float, *, delta: float) -> float:
    """Return the largest rho a search finds whose :func:`zcdp_delta` at ``epsilon`` is at most ``delta``."""
    eps, target = check_epsilon(epsilon), check_delta(delta, zero=False)

    def enough(inverse: float) -> bool:
        return zcdp_delta(1 / exact(inverse), epsilon=eps) <= target

    inverse = least_enough(enough, start=4 * (math.log(1 / target) + eps) / eps**2)
    return (1 - PRECISE) / inverse  # below 1 / inverse however either is rounded


def _best_order(rho: float, epsilon: float) -> float:
    from scipy.optimize import brentq  # a quarter of a second of import that few noises need

    def slope(order: float) -> float:
        return (2 * order - 1) * rho - epsilon + math.log1p(-1 / order)

    lower, upper = 1 + 1e-9, (epsilon + 1) / (2 * rho) + 2
    return float(brentq(slope, lower, upper)) if slope(lower) < 0 < slope(upper) else upper
