"""What a host does to a score before it is shown: nothing, rounding, bounded noise, random noise."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from scipy.special import erfc, erfcinv

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count, check_epsilon
from tacit.scores.losses import FLOAT64, Precision

__all__ = ["Answers", "Bounded", "Exact", "GaussianNoise", "LaplaceNoise", "RandomNoise", "Rounded"]


class Answers(ABC):
    """A bound on how far the answer is from the score, for a score computed in floating point.

    Examples
    --------
    >>> Rounded(decimals=5).error(largest=1.0) > 5e-6
    True
    """

    __slots__ = ()

    precision: Precision

    @abstractmethod
    def error(self, *, largest: float) -> float:
        """Return the bound for scores up to ``largest``, the computation's own rounding included.

        Examples
        --------
        >>> Exact(growth=4.0).error(largest=1.0) == 4 * 2**-53
        True
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Exact(Answers):
    """The score as computed: its only error is the computation's rounding.

    Parameters
    ----------
    precision
        The number system of predictions and score.
    growth
        Rounding error to reckon with, in units of 2^-bits times the score. NumPy's pairwise sums of many equal
        losses are off by up to about 6, but for other labels by nearly the same, so that 5 is enough for an
        attack that scores its readings as the host does (``benchmarks/bench_scores.py`` measures it). For a host
        that adds in another order take 8, for one that adds rows one by one more.

    Examples
    --------
    >>> Exact().error(largest=0.5)
    2.7755575615628914e-16
    """

    precision: Precision = FLOAT64
    growth: float = 5.0

    def __post_init__(self) -> None:
        check_epsilon(self.growth, name="growth")

    def error(self, *, largest: float) -> float:
        """Return growth 2^-bits largest.

        Examples
        --------
        >>> Exact(growth=1.0).error(largest=1.0) == 2**-53
        True
        """
        return self.growth * math.ldexp(largest, -self.precision.bits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounded(Answers):
    """The score rounded to ``decimals`` decimals: within 10^-decimals / 2.

    Examples
    --------
    >>> round(Rounded(decimals=3).error(largest=1.0), 9)
    0.0005
    """

    decimals: int
    precision: Precision = FLOAT64

    def __post_init__(self) -> None:
        check_count(self.decimals, name="decimals", least=0)

    def error(self, *, largest: float) -> float:
        """Return 10^-decimals / 2, and the computation's rounding.

        Examples
        --------
        >>> Rounded(decimals=0).error(largest=1.0) >= 0.5
        True
        """
        return 0.5 * 10.0**-self.decimals + Exact(precision=self.precision).error(largest=largest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounded(Answers):
    """The score with any noise of size at most ``tau``.

    Examples
    --------
    >>> Bounded(tau=0.0)
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: tau must be a finite number > 0, got 0.0
    """

    tau: float
    precision: Precision = FLOAT64

    def __post_init__(self) -> None:
        check_epsilon(self.tau, name="tau")

    def error(self, *, largest: float) -> float:
        """Return tau, and the computation's rounding.

        Examples
        --------
        >>> Bounded(tau=0.5).error(largest=1.0) >= 0.5
        True
        """
        return self.tau + Exact(precision=self.precision).error(largest=largest)


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomNoise(ABC):
    """The score with fresh random noise in every answer; repeats and joint designs average it away.

    Parameters
    ----------
    scale
        The noise's scale parameter.
    failure
        Probability that the attack may err at all; a plan keeps it over all its queries.

    Examples
    --------
    >>> GaussianNoise(scale=1.0).repeats(0.5, failure=0.01)
    27
    """

    scale: float
    failure: float = 1e-6

    def __post_init__(self) -> None:
        check_epsilon(self.scale, name="scale")
        if not 0 < self.failure < 1:
            raise InvalidInput(f"failure must be in (0, 1), got {self.failure!r}")

    @abstractmethod
    def tail(self, bound: float, *, repeats: int) -> float:
        """Return a bound on P(|mean of ``repeats`` noises| >= bound).

        Examples
        --------
        >>> round(GaussianNoise(scale=1.0).tail(1.96, repeats=1), 4)
        0.05
        """

    @abstractmethod
    def capacity(self, variance: float) -> float:
        """Return the bits that an answer can carry about a score of this variance.

        Examples
        --------
        >>> GaussianNoise(scale=1.0).capacity(3.0)
        1.0
        """

    @abstractmethod
    def repeats(self, bound: float, *, failure: float) -> int:
        """Return the least number of repeats whose tail beyond ``bound`` is at most ``failure``.

        Examples
        --------
        >>> LaplaceNoise(scale=1.0).repeats(0.5, failure=0.01)
        88
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianNoise(RandomNoise):
    """Gaussian noise of standard deviation ``scale``.

    Examples
    --------
    >>> GaussianNoise(scale=2.0).tail(2.0, repeats=4) < 0.05
    True
    """

    def tail(self, bound: float, *, repeats: int) -> float:
        """Return erfc(bound sqrt(repeats/2) / scale), exactly the tail.

        Examples
        --------
        >>> round(GaussianNoise(scale=1.0).tail(0.98, repeats=4), 4)
        0.05
        """
        return float(erfc(bound * math.sqrt(repeats / 2) / self.scale))

    def capacity(self, variance: float) -> float:
        """Return (1/2) log2(1 + variance/scale^2).

        Examples
        --------
        >>> GaussianNoise(scale=2.0).capacity(12.0)
        1.0
        """
        return 0.5 * math.log2(1 + variance / self.scale**2)

    def repeats(self, bound: float, *, failure: float) -> int:
        """Return ceil(2 (scale erfcinv(failure) / bound)^2).

        Examples
        --------
        >>> GaussianNoise(scale=0.1).repeats(0.5, failure=1e-6)
        1
        """
        return max(1, math.ceil(2 * (self.scale * float(erfcinv(failure)) / bound) ** 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceNoise(RandomNoise):
    """Laplace noise of scale ``scale``, what an epsilon-DP score carries.

    Examples
    --------
    >>> LaplaceNoise(scale=1.0).tail(1.0, repeats=10) < 0.25
    True
    """

    def tail(self, bound: float, *, repeats: int) -> float:
        """Return Chernoff's bound 2 exp(-repeats I(bound/scale)), and exactly e^(-bound/scale) for one.

        I(x) = sqrt(1 + x^2) - 1 - ln((1 + sqrt(1 + x^2))/2), the rate function of the Laplace distribution.

        Examples
        --------
        >>> round(LaplaceNoise(scale=1.0).tail(3.0, repeats=1), 4)
        0.0498
        """
        x = bound / self.scale
        return math.exp(-x) if repeats == 1 else min(1.0, 2 * math.exp(-repeats * _laplace_rate(x)))

    def capacity(self, variance: float) -> float:
        """Return the bound (1/2) log2(2 pi e (variance + 2 scale^2)) - log2(2 e scale).

        Examples
        --------
        >>> 0 < LaplaceNoise(scale=1.0).capacity(0.0) < 0.11
        True
        """
        spread = 0.5 * math.log2(2 * math.pi * math.e * (variance + 2 * self.scale**2))
        return spread - math.log2(2 * math.e * self.scale)

    def repeats(self, bound: float, *, failure: float) -> int:
        """Return 1 where one answer is enough, else ceil(ln(2/failure) / I(bound/scale)).

        Examples
        --------
        >>> LaplaceNoise(scale=1.0).repeats(20.0, failure=1e-6)
        1
        """
        if self.tail(bound, repeats=1) <= failure:
            return 1
        return max(2, math.ceil(math.log(2 / failure) / _laplace_rate(bound / self.scale)))


def _laplace_rate(x: float) -> float:
    root = math.sqrt(1 + x * x)
    # root - 1 loses digits at small x
    return x * x / (root + 1) - math.log1p(x * x / (2 * (root + 1)))
