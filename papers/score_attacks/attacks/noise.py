"""Random noise as an attacker meets it: how often a query must be repeated until its mean is near the score."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from scipy.special import erfc, erfcinv

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_epsilon

__all__ = ["AnswerNoise", "GaussianAnswerNoise", "LaplaceAnswerNoise"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerNoise(ABC):
    """The score with fresh random noise in every answer; repeats and joint designs average it away.

    Parameters
    ----------
    failure
        Probability that the attack may err at all; a plan keeps it over all its queries.
    """

    scale: float
    failure: float = 1e-6

    def __post_init__(self) -> None:
        check_epsilon(self.scale, name="scale")
        if not 0 < self.failure < 1:
            raise InvalidInput(f"must be in (0, 1), got {self.failure!r}", field="failure")

    @abstractmethod
    def tail(self, bound: float, *, repeats: int) -> float:
        """Return a bound on P(|mean of ``repeats`` noises| >= bound)."""

    @abstractmethod
    def capacity(self, variance: float) -> float:
        """Return the bits that an answer can carry about a score of this variance."""

    @abstractmethod
    def repeats(self, bound: float, *, failure: float) -> int:
        """Return the least number of repeats whose tail beyond ``bound`` is at most ``failure``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianAnswerNoise(AnswerNoise):
    """Gaussian noise of standard deviation ``scale``."""

    def tail(self, bound: float, *, repeats: int) -> float:
        """Return erfc(bound sqrt(repeats/2) / scale), exactly the tail."""
        return float(erfc(bound * math.sqrt(repeats / 2) / self.scale))

    def capacity(self, variance: float) -> float:
        """Return (1/2) log2(1 + variance/scale^2)."""
        return 0.5 * math.log2(1 + variance / self.scale**2)

    def repeats(self, bound: float, *, failure: float) -> int:
        """Return ceil(2 (scale erfcinv(failure) / bound)^2)."""
        return max(1, math.ceil(2 * (self.scale * float(erfcinv(failure)) / bound) ** 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceAnswerNoise(AnswerNoise):
    """Laplace noise of scale ``scale``, what an epsilon-DP score carries."""

    def tail(self, bound: float, *, repeats: int) -> float:
        """Return Chernoff's bound 2 exp(-repeats I(bound/scale)), and exactly e^(-bound/scale) for one.

        I(x) = sqrt(1 + x^2) - 1 - ln((1 + sqrt(1 + x^2))/2), the rate function of the Laplace distribution.
        """
        x = bound / self.scale
        return math.exp(-x) if repeats == 1 else min(1.0, 2 * math.exp(-repeats * _laplace_rate(x)))

    def capacity(self, variance: float) -> float:
        """Return the bound (1/2) log2(2 pi e (variance + 2 scale^2)) - log2(2 e scale)."""
        spread = 0.5 * math.log2(2 * math.pi * math.e * (variance + 2 * self.scale**2))
        return spread - math.log2(2 * math.e * self.scale)

    def repeats(self, bound: float, *, failure: float) -> int:
        """Return 1 where one answer is enough, else ceil(ln(2/failure) / I(bound/scale))."""
        if self.tail(bound, repeats=1) <= failure:
            return 1
        return max(2, math.ceil(math.log(2 / failure) / _laplace_rate(bound / self.scale)))


def _laplace_rate(x: float) -> float:
    root = math.sqrt(1 + x * x)
    # root - 1 loses digits at small x
    return x * x / (root + 1) - math.log1p(x * x / (2 * (root + 1)))
