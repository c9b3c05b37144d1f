"""Policies without a guarantee: the score itself, the score rounded, and the score with bounded noise."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from tacit.privacy.settings import about
from tacit.scores.policies.base import Answer, Policy, PolicyState, TermInterval

if TYPE_CHECKING:
    import numpy as np

    from tacit.privacy.guarantee import NoGuarantee
    from tacit.scores.metrics.base import Metric, UnreleasedScore
    from tacit.scores.policies.several import BoundedRegret

__all__ = ["Bounded", "Exact", "Rounded"]

_FLOATS = 1e-12  # what computing a score adds to its error


@dataclass(frozen=True, kw_only=True)
class _BoundedErrorPolicy(Policy):
    """A policy whose answer is within a known distance of the score."""

    reason: ClassVar[str]

    @property
    @abstractmethod
    def error(self) -> float:
        """How far an answer can be from the score."""

    @abstractmethod
    def _show(self, score: float, rng: np.random.Generator) -> str:
        """Return the score as it is shown."""

    def release(self, measurement: UnreleasedScore, *, state: PolicyState, rng: np.random.Generator) -> Answer:
        """Return the score as it is shown."""
        text = self._show(measurement.exact, rng)
        return Answer(released=float(text), text=text, charge=self.guarantee(), state=dict(state))

    def guarantee(self, *, submissions: int = 1) -> NoGuarantee:  # noqa: ARG002
        """Return none, and why."""
        from tacit.privacy.guarantee import NoGuarantee

        return NoGuarantee(reason=self.reason)

    def interval(self, answer: float, *, metric: Metric, rows: int, changed: bool = True) -> TermInterval:  # noqa: ARG002
        """Return the means of terms whose scores are within the error."""
        error = self.error or _FLOATS
        return TermInterval(*sorted(metric.mean_of(end) for end in (answer - error, answer + error)))

    def regret(self, metric: Metric, *, rows: int) -> BoundedRegret:  # noqa: ARG002
        """Return twice the error: of the chosen score, and of the best."""
        from tacit.scores.policies.several import BoundedRegret

        return BoundedRegret(most=2 * self.error)


@dataclass(frozen=True, kw_only=True)
class Exact(_BoundedErrorPolicy):
    """The score as computed: for comparison, and for labels that are public anyway."""

    name: ClassVar[str] = "exact"
    phrase: ClassVar[str] = "as computed"
    reason: ClassVar[str] = "exact scores: submissions can be built whose scores are the labels"

    @property
    def error(self) -> float:
        """0: an answer is the score."""
        return 0.0

    def describe(self) -> str:
        """Return that scores are shown as computed."""
        return "Scores are shown as computed: a few dozen submissions can reveal every label."

    def _show(self, score: float, _: np.random.Generator) -> str:
        return repr(score)


@dataclass(frozen=True, kw_only=True)
class Rounded(_BoundedErrorPolicy):
    """The score rounded to a number of decimals. No guarantee: rounding only makes an attack longer."""

    name: ClassVar[str] = "rounded"
    phrase: ClassVar[str] = "rounded to {decimals} decimals"
    reason: ClassVar[str] = "rounding is no noise: submissions can be built whose rounded scores are the labels"

    decimals: int = field(
        default=3,
        metadata=about("Decimals kept.", rule="an integer from 0 to 15", holds=lambda decimals: 0 <= decimals <= 15),
    )

    @property
    def error(self) -> float:
        """Half a unit of the last decimal."""
        return 0.5 * 10.0**-self.decimals

    def describe(self) -> str:
        """Return to how many decimals."""
        return f"Scores are rounded to {self.decimals} decimals; this only makes an attack longer."

    def _show(self, score: float, _: np.random.Generator) -> str:
        return f"{score:.{self.decimals}f}"


@dataclass(frozen=True, kw_only=True)
class Bounded(_BoundedErrorPolicy):
    """The score with noise that is uniform between -tau and tau. No guarantee: designs read through bounded noise."""

    name: ClassVar[str] = "bounded"
    phrase: ClassVar[str] = "with noise of at most {tau:g}"
    reason: ClassVar[str] = "bounded noise: submissions can be built whose scores are the labels"

    tau: float = field(
        metadata=about(
            "The largest error of an answer.", rule="a finite number > 0", holds=lambda tau: 0 < tau < math.inf
        )
    )

    @property
    def error(self) -> float:
        """Tau."""
        return self.tau

    def describe(self) -> str:
        """Return how large the noise is."""
        return f"Scores carry noise of at most {self.tau:g}; this only makes an attack longer."

    def _show(self, score: float, rng: np.random.Generator) -> str:
        return repr(score + rng.uniform(-self.tau, self.tau))
