"""Discrete Gaussian noise: the integer noise of (epsilon, delta), drawn without a float."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.guarantee import Guarantee, Unit
from tacit.privacy.loss import DiscreteGaussianLoss
from tacit.privacy.loss.curve import discrete_gaussian_delta, gaussian_scale
from tacit.privacy.loss.search import least_enough
from tacit.privacy.noise.karney import propose_gaussian
from tacit.privacy.noise.rejection import Shape, draw_accepted, exact_positive, representable_scale
from tacit.privacy.rounding import check_count, check_delta, check_epsilon

__all__ = ["DiscreteGaussian"]

_DYADIC = 48  # bits of a scale found by a search
_SLACK = 1 + 2.0**-36  # so that a search for epsilon at this delta does not end above it
_SMOOTH = 3.0  # from this scale on the sums over integers are the integrals, to a float's last digit


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussian:
    """Integer noise with P(k) proportional to e^(-k^2 / 2 scale^2).

    Added to an integer query that one unit moves by at most D, it is (epsilon, :meth:`delta_at`)-differentially
    private for every epsilon, and D^2 / 2 scale^2 zero-concentrated. Not protected: the time that a draw takes, and
    anything without the noise.

    Parameters
    ----------
    scale
        A rational > 0, at most 2^52; a float is read as the decimal that it prints. If its numerator or denominator
        exceeds 2^52 it is rounded up, and the cost is that of the rounded scale.

    References
    ----------
    Canonne, Kamath and Steinke (2020); Karney (2016), Algorithm D. Proof: docs/proofs/discrete_gaussian.md.

    Examples
    --------
    >>> noise = DiscreteGaussian.for_privacy(1.0, delta=1e-5)
    >>> round(float(noise.scale), 4)
    3.7405
    >>> noise.draw(4, rng=np.random.default_rng(0)).dtype
    dtype('int64')
    """

    scale: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", representable_scale(self.scale))

    @classmethod
    def for_privacy(cls, epsilon: float, *, delta: float, sensitivity: int = 1) -> DiscreteGaussian:
        """Return the least noise that gives (epsilon, delta) to a query of this integer sensitivity.

        Below a scale of about half the sensitivity more noise is not always better, and the search may miss
        a smaller scale that would do; what it returns always does.
        """
        eps, target = check_epsilon(epsilon), check_delta(delta, zero=False)
        D = check_count(sensitivity, name="sensitivity")

        def enough(scale: float) -> bool:
            return cls(scale=_dyadic_up(scale)).delta_at(eps, sensitivity=D) * _SLACK <= target

        start = gaussian_scale(eps, delta=target, sensitivity=D)
        return cls(scale=_dyadic_up(least_enough(enough, start=start)))

    @property
    def variance(self) -> float:
        """The variance; scale^2, or less for small scales."""
        s = float(self.scale)
        k = _support(s)
        return s * s if s >= _SMOOTH else float((k * k * self.pmf(k)).sum())

    def pmf(self, k: ArrayLike) -> NDArray[np.float64]:
        """Return P(k) as floats."""
        s = float(self.scale)
        total = s * math.sqrt(2 * math.pi) if s >= _SMOOTH else float(_bell(_support(s), s).sum())
        return np.asarray(_bell(np.asarray(k, dtype=np.float64), s) / total)

    def draw(self, size: Shape, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw noise of the given size or shape."""

        def propose(count: int, rng: np.random.Generator) -> NDArray[np.int64]:
            return propose_gaussian(count, scale=self.scale, rng=rng)

        return draw_accepted(size, propose=propose, chance=0.45, rng=rng)

    def delta_at(self, epsilon: float, *, sensitivity: int) -> float:
        """Return the least delta at ``epsilon``, rounded up."""
        return discrete_gaussian_delta(self.scale, epsilon=epsilon, sensitivity=sensitivity)

    def rho(self, *, squared_sensitivity: Fraction | float) -> Fraction:
        """Return the zero-concentrated privacy of a vector with this noise: squared_sensitivity / 2 scale^2."""
        return exact_positive(squared_sensitivity, name="squared_sensitivity") / (2 * self.scale**2)

    def loss(self, *, sensitivity: int) -> DiscreteGaussianLoss:
        """Return the privacy loss of one integer of this sensitivity."""
        return DiscreteGaussianLoss(scale=self.scale, sensitivity=check_count(sensitivity, name="sensitivity"))

    def guarantee(self, *, sensitivity: int, unit: Unit, delta: float) -> Guarantee:
        """Return the guarantee to one ``unit``, which moves one integer by at most ``sensitivity``."""
        target = check_delta(delta, zero=False)
        return Guarantee.from_loss(self.loss(sensitivity=sensitivity), unit=unit, delta=target)


def _bell(k: NDArray[np.float64], s: float) -> NDArray[np.float64]:
    return np.asarray(np.exp(-((k / s) ** 2) / 2))


def _support(s: float) -> NDArray[np.float64]:
    """All integers whose bell is not 0 as a float."""
    reach = math.ceil(40 * min(s, _SMOOTH))
    return np.arange(-reach, reach + 1, dtype=np.float64)


def _dyadic_up(scale: float) -> Fraction:
    """The least fraction m / 2^j >= scale with m of 48 bits."""
    power = Fraction(2) ** (_DYADIC - math.frexp(scale)[1])
    return math.ceil(Fraction(scale) * power) / power
