"""Scores of several models at once, and how far the lowest of them can mislead a choice."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.noise import DiscreteLaplace, NoiseGrid
from tacit.privacy.rounding import check_count

__all__ = ["BoundedRegret", "NoiseRegret", "NoisyMeans", "Regret"]


class Regret(Protocol):
    """How far the model of lowest released score can be from the best: its exact score less the least exact score."""

    def tail(self, x: float, *, models: int) -> float:
        """Return a bound on P(regret > x)."""

    def expected(self, *, models: int) -> float:
        """Return a bound on the mean regret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyMeans:
    """Means of row losses in [0, 1] with discrete Laplace noise.

    Row losses are clipped to [0, 1] and rounded to steps of a public grid; their sum moves by at most 1/step steps
    when one label changes. Integer noise is added to the sum, so the mean of n rows carries Laplace noise of scale
    1/(n epsilon).
    """

    epsilon: float
    step: Fraction

    @property
    def sensitivity(self) -> int:
        """By how many steps one label moves the sum of row losses."""
        return NoiseGrid(step=self.step).sensitivity(1.0)

    @property
    def noise(self) -> DiscreteLaplace:
        """The noise on the sum, in steps."""
        return DiscreteLaplace.for_epsilon(self.epsilon, sensitivity=self.sensitivity)

    def scale(self, *, rows: int) -> float:
        """Return the noise's scale on a mean of ``rows`` losses."""
        return float(self.noise.scale * self.step) / check_count(rows, name="rows")

    def draw(self, losses: NDArray[np.float64], *, rng: np.random.Generator) -> list[float]:
        """Return one noisy mean for each model of a (models, rows) table."""
        grid = NoiseGrid(step=self.step)
        sums = grid.snap(losses, lower=0.0, upper=1.0).sum(axis=1)
        noisy = sums + self.noise.draw(len(sums), rng=rng)
        means: list[float] = (grid.values(noisy) / losses.shape[1]).tolist()
        return means


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseRegret:
    """Regret under independent Laplace noise: the best model b and the chosen c have noise_b - noise_c >= regret.

    Parameters
    ----------
    width
        Of the range of a row's loss.
    """

    means: NoisyMeans
    rows: int
    width: float = 1.0

    def tail(self, x: float, *, models: int) -> float:
        """Return (models - 1) P(noise - noise' >= x), a union bound over the models that could be chosen instead."""
        step = float(self.means.step)
        steps = (x / self.width - step) * self.rows / step  # the grid moves a mean by step/2
        return min(1.0, (models - 1) * difference_tail(math.ceil(steps), scale=float(self.means.noise.scale)))

    def expected(self, *, models: int) -> float:
        """Return E max of the noises, bounded by the sum over k of min(1, models P(noise >= k)), and the grid's."""
        step = float(self.means.step)
        noise = step / self.rows * expected_maximum(models, scale=float(self.means.noise.scale))
        return self.width * (step + noise)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedRegret:
    """Regret of scores that are off by at most half of ``most``: the lowest is at most that far above the least."""

    most: float

    def tail(self, x: float, *, models: int) -> float:
        """Return 0 from the bound on, and 1 below, where nothing is known."""
        return 0.0 if models == 1 or x >= self.most else 1.0

    def expected(self, *, models: int) -> float:
        """Return the bound."""
        return 0.0 if models == 1 else self.most


def difference_tail(k: int, *, scale: float) -> float:
    """Return P(N - N' >= k) for independent discrete Laplace N, N' of the same scale.

    P(N - N' = d) = ((1-a)/(1+a))^2 a^d (d + (1+a^2)/(1-a^2)) for d >= 0, a = e^(-1/scale); its sum from k >= 1 on is
    a^k ((1-a) k + a + (1+a^2)/(1+a)) / (1+a)^2.
    """
    if k <= 0:
        return 1.0
    a = math.exp(-1 / scale)
    return a**k * ((1 - a) * k + a + (1 + a * a) / (1 + a)) / (1 + a) ** 2


def expected_maximum(count: int, *, scale: float) -> float:
    """Bound E max of ``count`` discrete Laplace noises, in steps: sum over k >= 1 of min(1, count a^k/(1+a))."""
    if count == 1:
        return 0.0
    a = math.exp(-1 / scale)
    first = max(1, math.ceil(scale * math.log(count / (1 + a))))  # from here on count P(N >= k) <= 1
    return first - 1 + count * a**first / ((1 + a) * (1 - a))
