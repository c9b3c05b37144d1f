"""The loss of real Gaussian noise in steps on sampled rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.distribution import LARGEST, LossDistribution, interval_for
from tacit.privacy.errors import InvalidInput
from tacit.privacy.loss.base import DistributionPrice
from tacit.privacy.loss.gaussian_mixture import REACH, GaussianMixture, on_cells, revealed
from tacit.privacy.loss.real import HIDES_NOTHING
from tacit.privacy.rounding import check_count, check_epsilon

__all__ = ["SampledGaussianLoss", "sampled_step"]

Array = NDArray[np.float64]
Relation = Literal["ADD_OR_REMOVE_ONE", "REPLACE_ONE"]

_NEVER, _UNUSUAL = 1e-30, 1e-6
_MOST_ROWS = 1000  # of more, a drawn row counts as revealed
_CELLS, _HALVINGS = 4096, 34  # outputs to 1e-11 of their range: far below the slack of a delta


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledGaussianLoss(DistributionPrice):
    """Steps of real Gaussian noise on Poisson samples of the rows, under replace-one adjacency: the loss of DP-SGD.

    Each step takes every row with probability q = ``rate`` and adds noise of s C, s = ``noise``, to a sum of vectors of
    norm at most C. Let B be Binomial(k, q), k = ``rows``, how many rows of the person it takes. The pair of the
    mixtures of N(B, s^2) and of N(-B, s^2) dominates a step, and its composition all of them. Under a Guarantee only
    with the assumption that its arithmetic is exact.

    References
    ----------
    docs/proofs/groups.md for the pair, which is that of Ganesh (2024, arXiv 2401.10294) for a person who is replaced;
    Doroshenko et al. (2022) for the grid.

    Examples
    --------
    >>> one = SampledGaussianLoss(noise=1.0, rate=0.01, steps=1000)
    >>> round(one.epsilon_at(1e-5), 2), round(one.for_group(3).epsilon_at(1e-5), 2)
    (2.84, 10.18)
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
        """Each step for a person with as many times the rows."""
        return replace(self, rows=rows * self.rows)

    def distribution(self) -> LossDistribution:
        """That of one step, composed with itself."""
        (step,) = sampled_step(
            self.noise, rate=self.rate, relation="REPLACE_ONE", steps=self.steps, rows=self.rows
        )  # its own mirror image
        return step.power(self.steps)


def sampled_step(
    noise: float, *, rate: float, relation: Relation, steps: int = 1, rows: int = 1
) -> list[LossDistribution]:
    """Return the loss of one step by connecting the dots: one, or both directions where they differ.

    For all ``rows`` rows of a person, replaced or removed. If the noise hides nothing, or a person has more than 1,000
    rows, one of whom a row is drawn is revealed. ``steps`` chooses the grid's interval.

    Examples
    --------
    >>> len(sampled_step(1.0, rate=0.1, relation="REPLACE_ONE"))
    1
    >>> len(sampled_step(1.0, rate=0.1, relation="ADD_OR_REMOVE_ONE"))
    2
    """
    if noise < HIDES_NOTHING or rows > _MOST_ROWS:
        drawn = 1.0 if rate == 1 else -math.expm1(rows * math.log1p(-rate)) * (1 + 1e-15)
        return [revealed(min(drawn, 1.0))] * (1 if relation == "REPLACE_ONE" else 2)
    step = _SampledStep.of(mu=1 / noise, rate=rate, rows=rows)
    plain = GaussianMixture(weights=(1.0,), means=(0.0,))
    up, down = step.mixture(1), step.mixture(-1)
    if relation == "REPLACE_ONE":
        return [_step_on_grid(step.replaced, up, down, steps=steps)]
    return [
        _step_on_grid(step.removed, up, plain, steps=steps),
        _step_on_grid(step.added, plain, down, steps=steps),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _SampledStep:
    """Outputs x in units of the noise: ``counts`` rows that are drawn move them by so many ``mu``.

    Parameters
    ----------
    logs
        The logarithms of the chances of these counts.
    elsewhere
        The chance of other counts, which are taken to reveal everything.
    """

    mu: float
    counts: Array
    logs: Array
    elsewhere: float

    @classmethod
    def of(cls, *, mu: float, rate: float, rows: int) -> Self:
        counts = np.arange(rows + 1, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            ways = np.append(0.0, np.cumsum(np.log((rows - counts[:-1]) / counts[1:])))
            logs = ways + counts * math.log(rate) + np.where(counts < rows, (rows - counts) * np.log1p(-rate), 0.0)
        kept = logs > math.log(_NEVER / (rows + 1))
        return cls(mu=mu, counts=counts[kept], logs=logs[kept], elsewhere=0.0 if kept.all() else _NEVER)

    def mixture(self, sign: int) -> GaussianMixture:
        means = tuple(sign * self.mu * self.counts)
        return GaussianMixture(weights=tuple(np.exp(self.logs)), means=means, elsewhere=self.elsewhere)

    def removed(self, x: Array) -> Array:
        """The loss log sum_i P(B = i) e^(i mu x - i^2 mu^2/2) of an output with the person against without."""
        total = np.full(np.shape(x), -np.inf)
        for count, log in zip(self.counts, self.logs, strict=True):
            total = np.logaddexp(total, log + count * self.mu * (x - count * self.mu / 2))
        return total

    def added(self, x: Array) -> Array:
        """The same without the person against with the rows moving the output down."""
        return -self.removed(-x)

    def replaced(self, x: Array) -> Array:
        """The loss of an output with the person's rows moving it up against down."""
        return self.removed(x) - self.removed(-x)


def _step_on_grid(
    loss_of: Callable[[Array], Array], P: GaussianMixture, Q: GaussianMixture, *, steps: int
) -> LossDistribution:
    """The loss grows with the output, so that grid points of the loss are edges of cells of outputs."""
    low, high = min(*P.means, *Q.means) - REACH, max(P.means) + REACH
    bottom, top = (min(max(float(loss_of(np.array(x))), -LARGEST), LARGEST) for x in (low, high))
    h = interval_for(steps * _mean_square(loss_of, P), count=steps, span=top - bottom)
    lower = math.floor(bottom / h)
    grid = np.asarray(np.arange(lower, math.floor(top / h) + 2) * h, dtype=np.float64)
    return on_cells(lower, _outputs_at(grid, loss_of, low=low, high=high), P=P, Q=Q, h=h)


def _outputs_at(grid: Array, loss_of: Callable[[Array], Array], *, low: float, high: float) -> Array:
    """Solve loss_of(x) = l for every l of the grid by bisection, within the outputs that have a chance."""
    marks = np.linspace(low, high, _CELLS + 1)
    cell = np.clip(np.searchsorted(loss_of(marks), grid), 1, _CELLS)
    below, above = marks[cell - 1], marks[cell]
    for _ in range(_HALVINGS):
        middle = (below + above) / 2
        less = loss_of(middle) < grid
        below, above = np.where(less, middle, below), np.where(less, above, middle)
    return above


def _mean_square(loss_of: Callable[[Array], Array], P: GaussianMixture) -> float:
    z = np.linspace(-8, 8, 801)
    bell = np.exp(-z * z / 2)
    usual = [(weight, mean) for weight, mean in zip(P.weights, P.means, strict=True) if weight > _UNUSUAL]
    squares = (np.clip(loss_of(z + mean), -LARGEST, LARGEST) ** 2 for _, mean in usual)
    means = (float((bell * square).sum() / bell.sum()) for square in squares)
    return sum(weight * mean for (weight, _), mean in zip(usual, means, strict=True))
