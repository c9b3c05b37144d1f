"""Laplace: every released score is differentially private for one label."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_epsilon, exact, format_up
from tacit.privacy.settings import BOUND
from tacit.scores.policies.base import Answer, Policy, PolicyState, TermInterval

if TYPE_CHECKING:
    import numpy as np

    from tacit.privacy.guarantee import Guarantee
    from tacit.privacy.noise import DiscreteLaplace, NoiseGrid
    from tacit.scores.metrics.base import Metric, UnreleasedScore
    from tacit.scores.policies.several import NoiseRegret, NoisyMeans

__all__ = ["Laplace", "score_guarantee", "share_of"]

_STEP = Fraction(1, 1 << 16)  # of a row's term, as a share of its range
_FINE = Fraction(1, 1 << 24)  # of a score that is no mean over rows, as a share of its range
_FLOATS = 2.0**-40  # more than floats can add to how far a score moves


@dataclass(frozen=True, kw_only=True)
class Laplace(Policy):
    """The score with discrete Laplace noise: every answer is epsilon-differentially private for one label.

    Row terms are capped by the metric, rounded to steps of a public grid (2^-16 of their range) and added up;
    integer noise goes on the sum. AUC, F1 and the host's own metric get integer noise on a grid of 2^-24 of their
    range, scaled to their sensitivity. Released values are capped to the range and finished (a root) afterwards,
    which costs nothing. k answers cost k epsilon.

    Unit: one row's label; neighbors differ in it alone. Assumed: predictions depend on these labels through released
    scores alone. Not protected: features, predictions, the number of rows, and a row's label that others reveal.

    Parameters
    ----------
    epsilon
        Of one score.

    References
    ----------
    Dwork et al. (2006); Ghosh, Roughgarden and Sundararajan (2012).

    Examples
    --------
    >>> import numpy as np
    >>> from tacit.scores.metrics import Accuracy
    >>> measured = Accuracy().measure(np.zeros(2000, dtype=int), np.arange(2000) < 500)
    >>> answer = Laplace(epsilon=0.5).release(measured, state={}, rng=np.random.default_rng(0))
    >>> round(answer.released, 2), print(answer.charge)
    epsilon 0.5 for one label
    (0.75, None)
    """

    name: ClassVar[str] = "laplace"
    phrase: ClassVar[str] = "with Laplace noise"

    epsilon: float = field(default=0.2, metadata=BOUND)

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)

    def sharing(self, epsilon: float | None, *, submissions: int) -> Self:
        """Return the policy whose scores each have an equal share of epsilon."""
        return replace(self, epsilon=share_of(epsilon, submissions))

    def guarantee(self, *, submissions: int = 1) -> Guarantee:
        """Return epsilon for one label and score, composed."""
        return score_guarantee(self.epsilon, scores=submissions)

    def check(self, metric: Metric, *, rows: int) -> None:
        """Raise unless the metric's sensitivity is known."""
        if metric.sensitivity(rows) is None:
            raise InvalidInput(
                f"must have a known sensitivity for {self.name}: {metric.no_sensitivity}", field="metric"
            )

    def scale(self, metric: Metric, *, rows: int) -> float:
        """Return the noise's scale on the mean of the terms."""
        self.check(metric, rows=rows)
        low, high = metric.term_bounds
        if metric.additive:
            return self.means.scale(rows=rows) * (high - low)
        noise, grid = self._whole_noise(metric, rows=rows)
        return float(noise.scale * grid.step) * (high - low)

    def release(self, measurement: UnreleasedScore, *, state: PolicyState, rng: np.random.Generator) -> Answer:
        """Return the noisy score."""
        metric = measurement.metric
        self.check(metric, rows=measurement.rows)
        low, high = metric.term_bounds
        if metric.additive:
            share = self.means.draw(measurement.shares[None, :], rng=rng)[0]
        else:
            noise, grid = self._whole_noise(metric, rows=measurement.rows)
            noisy = grid.snap(measurement.shares, lower=0.0, upper=1.0) + noise.draw(1, rng=rng)
            share = float(grid.values(noisy)[0])
        text = f"{metric.finish(low + min(max(share, 0.0), 1.0) * (high - low)):.6g}"
        mean = low + share * (high - low)
        return Answer(released=float(text), text=text, charge=self.guarantee(), state=dict(state), mean=mean)

    def interval(self, answer: float, *, metric: Metric, rows: int, changed: bool = True) -> TermInterval:  # noqa: ARG002
        """Return the answer's mean of terms, with the noise around it."""
        mean = metric.mean_of(answer)
        return TermInterval(mean, mean, self.scale(metric, rows=rows))

    def regret(self, metric: Metric, *, rows: int) -> NoiseRegret:
        """Return the bound for means over rows."""
        from tacit.scores.policies.several import NoiseRegret

        if not metric.additive:
            raise InvalidInput(
                f"must be a mean over rows, such as log_loss, brier, accuracy, rmse or mae, got {metric.name}",
                field="metric",
            )
        low, high = metric.term_bounds
        return NoiseRegret(means=self.means, rows=rows, width=high - low)

    def describe(self) -> str:
        """Return what a score guarantees."""
        return (
            f"Scores carry noise: each is differentially private for one label with epsilon {format_up(self.epsilon)}."
        )

    def describe_final(self) -> str:
        """Return the noise of the final score."""
        return f"That final score carries noise with epsilon {format_up(self.epsilon)}."

    @property
    def means(self) -> NoisyMeans:
        """The noise on means over rows."""
        from tacit.scores.policies.several import NoisyMeans

        return NoisyMeans(epsilon=self.epsilon, step=_STEP)

    def _whole_noise(self, metric: Metric, *, rows: int) -> tuple[DiscreteLaplace, NoiseGrid]:
        """Return the noise for a score that is no mean over rows, in steps of its range."""
        from tacit.privacy.noise import DiscreteLaplace, NoiseGrid

        low, high = metric.term_bounds
        grid = NoiseGrid(step=_FINE)
        moved = (metric.sensitivity(rows) or 0.0) / (high - low)
        steps = grid.sensitivity(min(1.0, moved * (1 + _FLOATS) + _FLOATS))
        return DiscreteLaplace.for_epsilon(self.epsilon, sensitivity=steps), grid


def score_guarantee(epsilon: float, *, scores: int) -> Guarantee:
    """Return what so many scores of the same epsilon guarantee for one label."""
    from tacit.privacy.composition import compose
    from tacit.privacy.guarantee import Guarantee, Unit

    assumptions = ("predictions depend on these labels through released scores alone",)
    one = Guarantee(unit=Unit.LABEL, epsilon=epsilon, assumptions=assumptions)
    return one if scores == 1 else compose([one] * scores)


def share_of(epsilon: float | None, parts: int) -> float:
    """Return epsilon/parts, rounded down until so many of it are at most epsilon; floats are read as decimals."""
    if epsilon is None:
        raise InvalidInput("must be a finite number > 0: the policy adds noise for a guarantee", field="epsilon")
    share = float(exact(epsilon) / parts)
    while parts * exact(share) > exact(epsilon):
        share = math.nextafter(share, 0.0)
    return share
