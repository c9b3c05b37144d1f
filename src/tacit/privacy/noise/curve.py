"""What Gaussian noise costs: delta as a function of epsilon, always on the private side of the truth."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache

import mpmath
from scipy.optimize import brentq
from scipy.special import log_ndtr

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count, check_delta, check_epsilon, exact

__all__ = [
    "discrete_gaussian_delta",
    "discrete_gaussian_epsilon",
    "gaussian_scale",
    "zcdp_delta",
    "zcdp_epsilon",
    "zcdp_rho",
]

_PREC = 240  # bits; the margins below leave 2^80 units in the last place to mpmath's functions
_MARGIN = mpmath.mpf(2) ** -150
_DIRECT = 16  # below this scale tails are summed term by term, above by Euler and Maclaurin
_TERMS = 20
_PRECISE = 2.0**-48  # where a search ends, relative


@lru_cache(maxsize=4096)
def discrete_gaussian_delta(scale: Fraction, *, epsilon: float, sensitivity: int = 1) -> float:
    """Return the least delta of discrete Gaussian noise at ``epsilon``, rounded up.

    delta = P(Y > epsilon s^2/D - D/2) - e^epsilon P(Y > epsilon s^2/D + D/2), Y the noise, s its scale, D the
    sensitivity. Smaller changes of the query give less (the likelihood ratio is monotone).

    References
    ----------
    Canonne, Kamath and Steinke (2020), Theorem 7. Proof: docs/proofs/discrete_gaussian.md.

    Examples
    --------
    >>> f"{discrete_gaussian_delta(Fraction(4), epsilon=1.0):.6e}"
    '3.055455e-06'
    """
    eps, D, s = exact(check_epsilon(epsilon, zero=True)), check_count(sensitivity, name="sensitivity"), exact(scale)
    start = math.floor(eps * s * s / D - Fraction(D, 2)) + 1
    with mpmath.workprec(_PREC):
        E = mpmath.exp(_mp(eps))
        near, slack_near = _tail(start, s)
        far, slack_far = _tail(start + D, s)
        total, slack_total = _total(s)
        delta = (near - E * far + slack_near + E * slack_far) / (total - slack_total)
        return _up(delta)


def discrete_gaussian_epsilon(scale: Fraction, *, delta: float, sensitivity: int = 1) -> float:
    """Return the least epsilon of discrete Gaussian noise at ``delta``, rounded up.

    Examples
    --------
    >>> round(discrete_gaussian_epsilon(Fraction(4), delta=3.055456e-6), 6)
    1.0
    """
    target = check_delta(delta, zero=False)

    def enough(epsilon: float) -> bool:
        return discrete_gaussian_delta(scale, epsilon=epsilon, sensitivity=sensitivity) <= target

    if enough(0.0):
        return 0.0
    D, s = sensitivity, float(scale)
    most = (D / s) ** 2 / 2 + D / s * math.sqrt(2 * math.log(1 / target)) + 1
    while not enough(most):
        most *= 2
    return _few_digits_up(least_float(enough, lower=0.0, upper=most))


def _tail(m: int, s: Fraction) -> tuple[mpmath.mpf, mpmath.mpf]:
    """The sum of e^(-k^2 / 2 s^2) over k >= m, and a bound on its error."""
    if m <= 0:
        total, slack_total = _total(s)
        rest, slack = _tail(1 - m, s)
        return total - rest, slack + slack_total
    return _tail_by_terms(m, s) if s < _DIRECT else _tail_by_integral(m, s)


def _total(s: Fraction) -> tuple[mpmath.mpf, mpmath.mpf]:
    """The sum over all k: twice the tail and 1, or s sqrt(2 pi) (1 + 2 e^(-2 pi^2 s^2) + ...) by Poisson."""
    if s < _DIRECT:
        tail, slack = _tail_by_terms(1, s)
        return 1 + 2 * tail, 2 * slack + _MARGIN
    total = _mp(s) * mpmath.sqrt(2 * mpmath.pi)
    return total, total * _MARGIN


def _tail_by_terms(m: int, s: Fraction) -> tuple[mpmath.mpf, mpmath.mpf]:
    rate = 1 / (2 * _mp(s) ** 2)
    term = first = mpmath.exp(-rate * m * m)
    step, shrink = mpmath.exp(-rate * (2 * m + 1)), mpmath.exp(-2 * rate)
    tail = mpmath.mpf(0)
    while term > first * _MARGIN:
        tail += term
        term *= step
        step *= shrink
    # the ratios shrink, so what is left is at most a geometric series
    return tail, term / (1 - step) + first * _MARGIN


def _tail_by_integral(m: int, s: Fraction) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Euler-Maclaurin; the remainder by |B_2p| / (2p)! <= 4 / (2 pi)^2p and Cauchy-Schwarz on Hermite's functions."""
    scale = _mp(s)
    x = m / scale
    height = mpmath.exp(-x * x / 2)
    tail = scale * mpmath.sqrt(mpmath.pi / 2) * mpmath.erfc(x / mpmath.sqrt(2)) + height / 2
    before, hermite = mpmath.mpf(1), x  # He_0, He_1
    for j in range(1, _TERMS + 1):
        n = 2 * j - 1
        tail += mpmath.bernoulli(2 * j) / mpmath.factorial(2 * j) * scale ** (1 - 2 * j) * hermite * height
        before, hermite = hermite, x * hermite - n * before
        before, hermite = hermite, x * hermite - (n + 1) * before
    p = 2 * _TERMS
    remainder = 4 * (2 * mpmath.pi) ** -p * scale ** (1 - p) * mpmath.sqrt(2 * mpmath.pi * mpmath.factorial(p))
    return tail, remainder + scale * height * _MARGIN


def zcdp_delta(rho: Fraction, *, epsilon: float) -> float:
    """Return a delta that rho-zero-concentrated privacy implies at ``epsilon``, rounded up.

    The least over orders a > 1 of e^((a-1)(a rho - epsilon)) / (a-1) (1 - 1/a)^a; any order's is valid.

    References
    ----------
    Canonne, Kamath and Steinke (2020), Corollary 13; Bun and Steinke (2016).

    Examples
    --------
    >>> f"{zcdp_delta(Fraction(1, 32), epsilon=1.0):.4e}"
    '1.2253e-05'
    """
    eps, r = check_epsilon(epsilon, zero=True), float(rho)

    def slope(order: float) -> float:
        return (2 * order - 1) * r - eps + math.log1p(-1 / order)

    lower, upper = 1 + 1e-9, (eps + 1) / (2 * r) + 2
    order = exact(float(brentq(slope, lower, upper)) if slope(lower) < 0 < slope(upper) else upper)
    with mpmath.workprec(_PREC):
        a = _mp(order)
        exponent = (a - 1) * (a * _mp(exact(rho)) - _mp(exact(eps))) + a * mpmath.log1p(-1 / a)
        return _up(mpmath.exp(exponent) / (a - 1) * (1 + _MARGIN))


def zcdp_epsilon(rho: Fraction, *, delta: float) -> float:
    """Return an epsilon that rho-zero-concentrated privacy implies at ``delta``, rounded up.

    Examples
    --------
    >>> zcdp_epsilon(Fraction(1, 32), delta=1e-5)
    1.012286638
    """
    target = check_delta(delta, zero=False)
    most = float(rho) + 2 * math.sqrt(float(rho) * math.log(1 / target)) + 1
    return _few_digits_up(
        least_float(lambda epsilon: zcdp_delta(rho, epsilon=epsilon) <= target, lower=0.0, upper=most)
    )


def zcdp_rho(epsilon: float, *, delta: float) -> float:
    """Return a rho, as large as a search finds, whose :func:`zcdp_delta` at ``epsilon`` is at most ``delta``.

    Examples
    --------
    >>> rho = zcdp_rho(1.0, delta=1e-5)
    >>> zcdp_delta(exact(rho), epsilon=1.0) <= 1e-5
    True
    """
    eps, target = check_epsilon(epsilon), check_delta(delta, zero=False)
    inverse = least_float(
        lambda inverse: zcdp_delta(1 / exact(inverse), epsilon=eps) <= target,
        lower=0.0,
        upper=4 * math.log(1 / target) / eps**2 + 4 / eps + 1,  # there rho + 2 sqrt(rho log(1/delta)) <= epsilon
    )
    return math.nextafter(1 / inverse, 0.0)


def gaussian_scale(epsilon: float, *, delta: float, sensitivity: float = 1.0) -> float:
    """Return the least scale of real Gaussian noise for (epsilon, delta): a number to compare with, not a sampler.

    Floating-point Gaussian noise stands under no Guarantee; :class:`DiscreteGaussian` does.

    References
    ----------
    Balle and Wang (2018), Theorem 8: Phi(D/2s - epsilon s/D) - e^epsilon Phi(-D/2s - epsilon s/D) <= delta.

    Examples
    --------
    >>> round(gaussian_scale(1.0, delta=1e-5), 6)
    3.730632
    """
    eps, target = check_epsilon(epsilon), check_delta(delta, zero=False)

    def excess(log_s: float) -> float:
        s = math.exp(log_s)
        near, far = log_ndtr(0.5 / s - eps * s), log_ndtr(-0.5 / s - eps * s)
        return float(near + math.log(-math.expm1(min(eps + far - near, -1e-300)))) - math.log(target)

    return check_epsilon(sensitivity, name="sensitivity") * math.exp(brentq(excess, -50.0, 50.0, xtol=1e-14))


def least_float(enough: Callable[[float], bool], *, lower: float, upper: float) -> float:
    """Bisect to a number that is enough, starting from an ``upper`` that must be.

    Examples
    --------
    >>> least_float(lambda x: x * x >= 2, lower=0.0, upper=2.0)
    1.414213562373095...
    """
    if not enough(upper):
        raise InvalidInput(f"no number up to {upper!r} is enough; ask for a larger epsilon or delta")
    while upper - lower > _PRECISE * upper:
        middle = (lower + upper) / 2
        lower, upper = (lower, middle) if enough(middle) else (middle, upper)
    return upper


def _few_digits_up(value: float) -> float:
    """Round up at the tenth digit, so that noise made for epsilon 1 costs 1 and not 0.9999999999993."""
    return float(Context(prec=10, rounding=ROUND_CEILING).create_decimal(Decimal(repr(value))))


def _mp(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def _up(value: mpmath.mpf) -> float:
    """The value as a float that reads as no less, within [0, 1]."""
    if value >= 1:
        return 1.0
    result = math.nextafter(max(0.0, float(value)), math.inf)
    return min(1.0, result)
