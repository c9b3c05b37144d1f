"""Laplace: every released score is differentially private for one label."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.privacy.guarantee import Guarantee, Unit
from tacit.privacy.noise import DiscreteLaplace, Grid
from tacit.privacy.rounding import check_epsilon, format_up
from tacit.scores.learn import LaplaceGuard
from tacit.scores.protect.metrics import Measurement, Metric
from tacit.scores.protect.policies.base import Answer, Policy, State

__all__ = ["Laplace"]

_STEP = Fraction(1, 1024)  # of a row's term, as a share of its range
_FINE = Fraction(1, 1 << 24)  # of a score that is no mean over rows, as a share of its range
_FLOATS = 2.0**-40  # more than floats can add to how far a score moves


@dataclass(frozen=True, slots=True, kw_only=True)
class Laplace(Policy):
    """The score with discrete Laplace noise: every answer is epsilon-differentially private for one label.

    Row terms are capped by the metric, taken as whole steps of a public grid (1/1024 of their range) and added up;
    integer noise goes on the sum. AUC, F1 and the host's own metric get integer noise on a grid of 2^-24 of their
    range, scaled to their sensitivity. Released values are capped to the range and finished (a root) afterwards,
    which costs nothing. k answers cost k epsilon.

    Unit: one row's label; neighbours differ in it alone. Assumed: predictions depend on these labels through released
    scores alone. Not protected: features, predictions, the number of rows, and a row's label that others tell.

    Parameters
    ----------
    epsilon
        Of one score.

    References
    ----------
    Dwork et al. (2006); Ghosh, Roughgarden and Sundararajan (2012).

    Examples
    --------
    >>> from tacit.scores.protect import Accuracy
    >>> measured = Accuracy().measure(np.zeros(2000, dtype=int), np.arange(2000) < 500)
    >>> answer = Laplace(epsilon=0.5).release(measured, state={}, rng=np.random.default_rng(0))
    >>> round(answer.released, 2), print(answer.charge)
    epsilon 0.5 for one label
    (0.75, None)
    """

    kind = "laplace"

    epsilon: float = 0.2

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)

    @property
    def guarantee_per_score(self) -> Guarantee:
        """Epsilon for one label.

        Examples
        --------
        >>> Laplace(epsilon=0.2).guarantee_per_score.epsilon
        0.2
        """
        return Guarantee(
            unit=Unit.LABEL,
            epsilon=self.epsilon,
            assumptions=("predictions depend on these labels through released scores alone",),
        )

    def check(self, metric: Metric, *, rows: int) -> None:
        """Raise unless the metric's sensitivity is known.

        Examples
        --------
        >>> from tacit.scores.protect import Accuracy
        >>> Laplace().check(Accuracy(), rows=10)
        """
        self._refuse(metric, rows=rows)

    def scale(self, metric: Metric, *, rows: int) -> float:
        """Return the noise's scale on the mean of the terms.

        Examples
        --------
        >>> from tacit.scores.protect import Accuracy
        >>> Laplace(epsilon=0.1).scale(Accuracy(), rows=1000)
        0.01
        """
        self.check(metric, rows=rows)
        low, high = metric.term_bounds
        if metric.additive:
            return self._guard.scale(rows=rows) * (high - low)
        noise, grid = self._whole_noise(metric, rows=rows)
        return float(noise.scale * grid.step) * (high - low)

    def release(self, measurement: Measurement, *, state: State, rng: np.random.Generator) -> Answer:
        """Return the noised score.

        Examples
        --------
        >>> from tacit.scores.protect import F1
        >>> measured = F1(class_floor=400).measure(np.arange(1000) % 2, np.arange(1000) % 3 % 2)
        >>> answer = Laplace(epsilon=1.0).release(measured, state={}, rng=np.random.default_rng(0))
        >>> abs(answer.released - measured.exact) < 0.05
        True
        """
        metric = measurement.metric
        self.check(metric, rows=measurement.rows)
        low, high = metric.term_bounds
        shares = (measurement.terms - low) / (high - low)
        if metric.additive:
            share = self._guard.guard(shares[None, :], rng=rng).values[0]
        else:
            noise, grid = self._whole_noise(metric, rows=measurement.rows)
            noised = grid.snap(shares, lower=0.0, upper=1.0) + noise.draw(1, rng=rng)
            share = float(grid.values(noised)[0])
        text = f"{metric.finish(low + min(max(share, 0.0), 1.0) * (high - low)):.6g}"
        return Answer(released=float(text), text=text, charge=self.guarantee_per_score, state=dict(state))

    def describe(self) -> str:
        """Say what a score promises.

        Examples
        --------
        >>> Laplace(epsilon=0.1).describe()
        'Scores carry noise: each is differentially private for one label with epsilon 0.1.'
        """
        return (
            f"Scores carry noise: each is differentially private for one label with epsilon {format_up(self.epsilon)}."
        )

    @property
    def _guard(self) -> LaplaceGuard:
        return LaplaceGuard(epsilon=self.epsilon, upper=1.0, step=_STEP)

    def _whole_noise(self, metric: Metric, *, rows: int) -> tuple[DiscreteLaplace, Grid]:
        """Return the noise for a score that is no mean over rows, in steps of its range."""
        low, high = metric.term_bounds
        grid = Grid(step=_FINE)
        moved = (metric.sensitivity(rows) or 0.0) / (high - low)
        steps = grid.sensitivity(min(1.0, moved * (1 + _FLOATS) + _FLOATS))
        return DiscreteLaplace.for_epsilon(self.epsilon, sensitivity=steps), grid
