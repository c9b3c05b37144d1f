"""The loss of real Gaussian noise in steps on sampled rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.distribution import LARGEST, LossDistribution, interval_for
from tacit.privacy.errors import InvalidInput
from tacit.privacy.loss.base import DistributionPrice
from tacit.privacy.loss.gaussian_mixture import REACH, GaussianMixture, on_cells, revealed
from tacit.privacy.loss.group import group_distribution
from tacit.privacy.loss.real import HIDES_NOTHING
from tacit.privacy.rounding import check_count, check_epsilon

__all__ = ["SampledGaussianLoss", "sampled_step"]

Array = NDArray[np.float64]
Relation = Literal["ADD_OR_REMOVE_ONE", "REPLACE_ONE"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledGaussianLoss(DistributionPrice):
    """Steps of real Gaussian noise on Poisson samples of the rows, under replace-one adjacency: the loss of DP-SGD.

    Each step takes every row with probability q = ``rate`` and adds noise of s C, s = ``noise``, to a sum of vectors of
    norm at most C. The pair P = (1 - q) N(0, s^2) + q N(1, s^2), Q = (1 - q) N(0, s^2) + q N(-1, s^2) dominates a step,
    and its composition all of them. Under a Guarantee only with the assumption that its arithmetic is exact.

    References
    ----------
    Zhu, Dong and Wang (2022), Theorem 10; Doroshenko et al. (2022) for the grid. That the pair of a step dominates is
    proved in docs/models_protect.md.

    Examples
    --------
    >>> round(SampledGaussianLoss(noise=1.0, rate=0.01, steps=1000).epsilon_at(1e-5), 2)
    2.84
    """

    kind: ClassVar[str] = "sampled_gaussian"
    noise: float
    rate: float
    steps: int
    rows: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", check_epsilon(self.noise, name="noise"))
        object.__setattr__(self, "rate", check_epsilon(self.rate, name="rate"))
        if self.rate > 1:
            raise InvalidInput(f"must be in (0, 1], got {self.rate!r}", field="rate")
        object.__setattr__(self, "steps", check_count(self.steps, name="steps"))
        object.__setattr__(self, "rows", check_count(self.rows, name="rows"))

    def for_group(self, rows: int) -> SampledGaussianLoss:
        """Each step for the group: ``rows`` replacements, one after the other."""
        return replace(self, rows=rows * self.rows)

    def distribution(self) -> LossDistribution:
        """That of one step, composed with itself."""
        (step,) = sampled_step(
            self.noise, rate=self.rate, relation="REPLACE_ONE", steps=self.steps, rows=self.rows
        )  # its own mirror image
        return group_distribution(step, rows=self.rows).power(self.steps)


def sampled_step(
    noise: float, *, rate: float, relation: Relation, steps: int = 1, rows: int = 1
) -> list[LossDistribution]:
    """Return the loss of one step by connecting the dots: one, or both directions where they differ.

    If the noise hides nothing, a row that is drawn is revealed. ``steps`` and ``rows`` choose the grid's interval.

    Examples
    --------
    >>> len(sampled_step(1.0, rate=0.1, relation="REPLACE_ONE"))
    1
    >>> len(sampled_step(1.0, rate=0.1, relation="ADD_OR_REMOVE_ONE"))
    2
    """
    if noise < HIDES_NOTHING:
        return [revealed(rate)] * (1 if relation == "REPLACE_ONE" else 2)
    step = _SampledStep(mu=1 / noise, rate=rate)
    plain = GaussianMixture(weights=(1.0,), means=(0.0,))
    drawn, opposite = step.mixture(step.mu), step.mixture(-step.mu)
    if relation == "REPLACE_ONE":
        return [_step_on_grid(step.replaced, step.output_of_replaced, drawn, opposite, steps=steps, rows=rows)]
    return [
        _step_on_grid(step.removed, step.output_of_removed, drawn, plain, steps=steps, rows=rows),
        _step_on_grid(step.added, step.output_of_added, plain, opposite, steps=steps, rows=rows),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _SampledStep:
    """Outputs x in units of the noise: a row that is drawn moves them by ``mu``."""

    mu: float
    rate: float

    def mixture(self, mean: float) -> GaussianMixture:
        return GaussianMixture(weights=(1 - self.rate, self.rate), means=(0.0, mean))

    def removed(self, x: Array) -> Array:
        """The loss log(1 - q + q e^(mu x - mu^2/2)) of an output with the row against without."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.logaddexp(np.log1p(-self.rate), math.log(self.rate) + self.mu * (x - self.mu / 2)))

    def added(self, x: Array) -> Array:
        """The same without the row against with it moving the output down."""
        return -self.removed(-x)

    def replaced(self, x: Array) -> Array:
        """The loss of an output with the row moving it up against down."""
        return self.removed(x) - self.removed(-x)

    def output_of_removed(self, loss: Array) -> Array:
        """Minus infinity where no output has so small a loss."""
        with np.errstate(divide="ignore"):
            grown = np.maximum(np.expm1(loss) + self.rate, 0.0) / self.rate
            return np.asarray(np.log(grown) / self.mu + self.mu / 2)

    def output_of_added(self, loss: Array) -> Array:
        """Infinity where no output has so large a loss."""
        return -self.output_of_removed(-loss)

    def output_of_replaced(self, loss: Array) -> Array:
        """Solves B E^2 + A (1 - e^l) E - e^l B = 0 for E = e^(mu x), A = 1 - q, B = q e^(-mu^2/2); x is odd in l."""
        size = np.abs(loss)
        a = (1 - self.rate) * np.expm1(size)
        b = self.rate * math.exp(-(self.mu**2) / 2)
        with np.errstate(over="ignore"):
            log_root = np.log(a + np.hypot(a, 2 * b * np.exp(size / 2))) - math.log(2 * b)
        return np.asarray(np.sign(loss) * np.maximum(log_root, 0.0) / self.mu)


def _step_on_grid(
    loss_of: Callable[[Array], Array],
    output_of: Callable[[Array], Array],
    P: GaussianMixture,
    Q: GaussianMixture,
    *,
    steps: int,
    rows: int,
) -> LossDistribution:
    most = float(max(P.means))
    bottom, top = (float(loss_of(np.array(x))) for x in (min(P.means) - REACH, most + REACH))
    bottom, top = max(bottom, -LARGEST), min(top, LARGEST)
    h = interval_for(steps * _mean_square(loss_of, P), count=steps, span=(top - bottom) * rows)
    lower = math.floor(bottom / h)
    edges = output_of(np.asarray(np.arange(lower, math.ceil(top / h) + 1) * h, dtype=np.float64))
    return on_cells(lower, edges, P=P, Q=Q, h=h)


def _mean_square(loss_of: Callable[[Array], Array], P: GaussianMixture) -> float:
    z = np.linspace(-8, 8, 801)
    bell = np.exp(-z * z / 2)
    squares = (np.clip(loss_of(z + mean), -LARGEST, LARGEST) ** 2 for mean in P.means)
    means = (float((bell * square).sum() / bell.sum()) for square in squares)
    return sum(weight * mean for weight, mean in zip(P.weights, means, strict=True))
