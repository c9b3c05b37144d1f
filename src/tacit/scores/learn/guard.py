"""Guards on mean losses: what is released for the exact score, its promise, and how far it can mislead a choice."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.composition import compose
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import NoGuarantee, Promise, Unit
from tacit.privacy.noise import DiscreteLaplace, Grid, is_seeded
from tacit.privacy.rounding import check_count, check_epsilon

__all__ = ["GuardedScores", "LaplaceGuard", "RoundingGuard", "ScoreGuard", "loss_table"]


class ScoreGuard(Protocol):
    """What :func:`tacit.scores.learn.choose` must know of a guard: how far the lowest released score can mislead.

    The regret of a choice is its exact score less the least exact score.

    Examples
    --------
    >>> guard: ScoreGuard = RoundingGuard(decimals=2)
    >>> guard.regret_tail(0.02, models=10)
    0.0
    """

    def regret_tail(self, x: float, *, models: int) -> float:
        """Return a bound on P(regret > x) for the model of lowest released score.

        Examples
        --------
        >>> RoundingGuard(decimals=2).regret_tail(0.005, models=10)
        1.0
        """

    def expected_regret(self, *, models: int) -> float:
        """Return a bound on the mean regret.

        Examples
        --------
        >>> RoundingGuard(decimals=2).expected_regret(models=10)
        0.01
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedScores:
    """Released scores, lower is better, with the guard they passed and the promise to the labels behind them.

    Parameters
    ----------
    values
        One for each model, in the models' order.
    guard
        What bounds their error.
    guarantee
        Of all values together.
    seeded
        Whether the noise came from a seeded generator; then whoever knows the seed can remove it.

    Examples
    --------
    >>> print(RoundingGuard(decimals=1).guard([[0.0, 1.0, 1.0]]))
    1 score: no guarantee: rounding is no noise: submissions can be built whose rounded scores are the labels
    """

    values: tuple[float, ...]
    guard: ScoreGuard
    guarantee: Promise
    seeded: bool

    def __str__(self) -> str:
        plural = "" if len(self.values) == 1 else "s"
        return f"{len(self.values)} score{plural}: {self.guarantee}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceGuard:
    """Mean losses with discrete Laplace noise: every score is epsilon-differentially private for one label.

    Row losses are clipped to [lower, upper] and taken as whole steps of a public grid; their sum moves by at
    most ceil((upper - lower)/step) steps when one label changes. Integer noise is added to the sum, so the mean
    of n rows carries Laplace noise of scale (upper - lower)/(n epsilon), and Q scores cost Q epsilon.
    Unit: one row's label; neighbours differ in it alone. Assumed: the predictions do not depend on these labels but
    through released scores. Not protected: features, predictions, the number of rows.

    Parameters
    ----------
    epsilon
        Of one score.
    upper, lower
        Public bounds of a row's loss; for log loss with probabilities in [eta, 1 - eta] they are -ln eta and
        -ln(1 - eta), for the 0-1 loss 1 and 0.
    step
        Of the grid on which a row's loss is rounded.

    References
    ----------
    Ghosh, Roughgarden and Sundararajan (2012); Dwork et al. (2006).

    Examples
    --------
    >>> guard = LaplaceGuard(epsilon=1.0, upper=1.0)
    >>> errors = np.random.default_rng(0).random((3, 500)) < [[0.1], [0.3], [0.5]]
    >>> scores = guard.guard(errors, rng=np.random.default_rng(1))
    >>> np.round(scores.values, 2)
    array([0.1 , 0.3 , 0.51])
    >>> print(scores.guarantee)
    epsilon 3 for one label
    """

    epsilon: float
    upper: float
    lower: float = 0.0
    step: Fraction = Fraction(1, 1024)

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        if not (math.isfinite(self.lower) and math.isfinite(self.upper) and self.lower < self.upper):
            raise InvalidInput(f"upper must be a finite number above lower, got {self.upper!r} and {self.lower!r}")
        Grid(step=self.step)

    @property
    def sensitivity(self) -> int:
        """By how many steps one label moves the sum of row losses.

        Examples
        --------
        >>> LaplaceGuard(epsilon=1.0, upper=2.0).sensitivity
        2048
        """
        return Grid(step=self.step).sensitivity(self.upper - self.lower)

    @property
    def noise(self) -> DiscreteLaplace:
        """The noise on the sum, in steps.

        Examples
        --------
        >>> LaplaceGuard(epsilon=0.5, upper=1.0).noise.scale
        Fraction(2048, 1)
        """
        return DiscreteLaplace.for_epsilon(self.epsilon, sensitivity=self.sensitivity)

    def scale(self, *, rows: int) -> float:
        """Return the noise's scale on a mean of ``rows`` losses.

        Examples
        --------
        >>> LaplaceGuard(epsilon=1.0, upper=1.0).scale(rows=100)
        0.01
        """
        return float(self.noise.scale * self.step) / check_count(rows, name="rows")

    def guard(self, losses: ArrayLike, *, rng: np.random.Generator) -> GuardedScores:
        """Release one noised mean for each model.

        Parameters
        ----------
        losses
            (models, rows): each model's loss on each labelled row.
        rng
            :func:`tacit.privacy.noise.system_rng` for a real release.

        Examples
        --------
        >>> LaplaceGuard(epsilon=8.0, upper=1.0).guard([[0, 1, 1, 0]], rng=np.random.default_rng(0)).seeded
        True
        """
        table = loss_table(losses)
        grid = Grid(step=self.step)
        sums = grid.snap(table, lower=self.lower, upper=self.upper).sum(axis=1)
        noised = sums + self.noise.draw(len(sums), rng=rng)
        promise = self.noise.guarantee(sensitivity=self.sensitivity, unit=Unit.LABEL)
        return GuardedScores(
            values=tuple((grid.values(noised) / table.shape[1]).tolist()),
            guard=_LaplaceError(guard=self, rows=table.shape[1]),
            guarantee=compose([promise] * len(sums)),
            seeded=is_seeded(rng),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _LaplaceError:
    """Regret under independent Laplace noise: the best model b and the chosen c have noise_b - noise_c >= regret."""

    guard: LaplaceGuard
    rows: int

    def regret_tail(self, x: float, *, models: int) -> float:
        """Return (models - 1) P(noise - noise' >= x), a union bound over the models that could be chosen instead."""
        steps = (x - float(self.guard.step)) * self.rows / float(self.guard.step)  # the grid moves a mean by step/2
        return min(1.0, (models - 1) * _difference_tail(math.ceil(steps), scale=float(self.guard.noise.scale)))

    def expected_regret(self, *, models: int) -> float:
        """Return E max of the noises, bounded by the sum over k of min(1, models P(noise >= k)), and the grid's."""
        unit = float(self.guard.step) / self.rows
        return float(self.guard.step) + unit * _expected_maximum(models, scale=float(self.guard.noise.scale))


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundingGuard:
    """Mean losses rounded to a number of decimals: no promise, but a sure bound on the regret.

    What is lowest after rounding is less than one unit of the last decimal above the least.

    Parameters
    ----------
    decimals
        Decimals kept.

    Examples
    --------
    >>> RoundingGuard(decimals=1).guard([[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]).values
    (0.3, 0.7)
    """

    decimals: int

    def __post_init__(self) -> None:
        check_count(self.decimals, name="decimals", least=0)

    def guard(self, losses: ArrayLike) -> GuardedScores:
        """Release one rounded mean for each model of a (models, rows) table.

        Examples
        --------
        >>> RoundingGuard(decimals=0).guard([[0.2, 0.4]]).values
        (0.0,)
        """
        means = loss_table(losses).mean(axis=1).round(self.decimals)
        reason = "rounding is no noise: submissions can be built whose rounded scores are the labels"
        return GuardedScores(
            values=tuple(means.tolist()), guard=self, guarantee=NoGuarantee(reason=reason), seeded=False
        )

    def regret_tail(self, x: float, *, models: int) -> float:
        """Return 0 from one unit of the last decimal on, and 1 below, where nothing is known.

        Examples
        --------
        >>> RoundingGuard(decimals=3).regret_tail(0.001, models=2)
        0.0
        """
        return 0.0 if models == 1 or x >= 10.0**-self.decimals else 1.0

    def expected_regret(self, *, models: int) -> float:
        """Return one unit of the last decimal.

        Examples
        --------
        >>> RoundingGuard(decimals=3).expected_regret(models=5)
        0.001
        """
        return 0.0 if models == 1 else 10.0**-self.decimals


def loss_table(losses: ArrayLike) -> NDArray[np.float64]:
    """Return (models, rows) losses as floats, or raise.

    Examples
    --------
    >>> loss_table([1.0, 2.0])
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: losses must be finite numbers, one row of them a model, got shape (2,)
    """
    table = np.asarray(losses, dtype=np.float64)
    if table.ndim != 2 or table.size == 0 or not np.isfinite(table).all():
        raise InvalidInput(f"losses must be finite numbers, one row of them a model, got shape {table.shape}")
    return table


def _difference_tail(k: int, *, scale: float) -> float:
    """P(N - N' >= k) for independent discrete Laplace N, N' of the same scale.

    P(N - N' = d) = ((1-a)/(1+a))^2 a^d (d + (1+a^2)/(1-a^2)) for d >= 0, a = e^(-1/scale); its sum from k >= 1 on is
    a^k ((1-a) k + a + (1+a^2)/(1+a)) / (1+a)^2.
    """
    if k <= 0:
        return 1.0
    a = math.exp(-1 / scale)
    return a**k * ((1 - a) * k + a + (1 + a * a) / (1 + a)) / (1 + a) ** 2


def _expected_maximum(count: int, *, scale: float) -> float:
    """Bound E max of ``count`` discrete Laplace noises, in steps: sum over k >= 1 of min(1, count a^k/(1+a))."""
    if count == 1:
        return 0.0
    a = math.exp(-1 / scale)
    first = max(1, math.ceil(scale * math.log(count / (1 + a))))  # from here on count P(N >= k) <= 1
    return first - 1 + count * a**first / ((1 + a) * (1 - a))
