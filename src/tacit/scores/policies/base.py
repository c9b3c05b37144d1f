"""The class of all policies, and the answer to one submission."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from tacit.privacy.errors import InvalidInput
from tacit.privacy.settings import Choice

if TYPE_CHECKING:
    import numpy as np

    from tacit.privacy.guarantee import AnyGuarantee
    from tacit.scores.metrics.base import Metric, UnreleasedScore
    from tacit.scores.policies.several import Regret

__all__ = ["Answer", "Policy", "PolicyState", "TermInterval"]

PolicyState = Mapping[str, Any]
"""What a policy keeps for one team, as plain JSON; private, and empty at the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is released for one submission, and what is kept.

    Parameters
    ----------
    released
        The number the team sees; nothing finer exists outside.
    charge
        What it costs the labels, for the ledger before the answer is released; None if it costs nothing more (the
        remembered answer to the same submission, or one that an earlier charge covers).
    state
        The team's private state for the next call; not shown.
    mean
        The noisy mean of the terms that the number was made from, which may be outside the metric's range; None if
        the number is all there is.
    """

    released: float
    text: str
    charge: AnyGuarantee | None
    state: dict[str, Any] = field(default_factory=dict, repr=False)
    mean: float | None = field(default=None, repr=False)


class TermInterval(NamedTuple):
    """What an answer reveals about the mean of the terms: within [low, high], up to Laplace noise of this scale."""

    low: float
    high: float
    scale: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Policy(Choice, ABC):
    """A rule from the exact score to the answer, without memory of its own."""

    @abstractmethod
    def release(self, measurement: UnreleasedScore, *, state: PolicyState, rng: np.random.Generator) -> Answer:
        """Return the answer to one submission.

        Parameters
        ----------
        measurement
            The exact score, from :meth:`Metric.measure`.
        state
            What the team's last :class:`Answer` left, or nothing.
        rng
            :func:`tacit.privacy.noise.system_rng` on a server.
        """

    @abstractmethod
    def guarantee(self, *, submissions: int = 1) -> AnyGuarantee:
        """Return what the answers to so many submissions of one team guarantee for one label."""

    @abstractmethod
    def describe(self) -> str:
        """Return one plain sentence for the rules of the competition."""

    def describe_final(self) -> str:
        """Return one plain sentence about a team's single final score."""
        return f"For that final score: {self.describe()}"

    stateless: ClassVar[bool] = True
    """Whether an answer depends on its submission alone, not on the team's earlier ones."""

    @property
    def improvement(self) -> float | None:
        """By how much of the range a score must improve to be shown; None if every answer is a new one."""
        return None

    def scores_charged(self, submissions: int) -> int:
        """Return how many answers to so many submissions of one team are charged at most."""
        return submissions

    def shown_in_all(self, *, submissions: int) -> tuple[str, str] | None:  # noqa: ARG002
        """Return what a team sees, and how little in a sentence; None if its answers can be weighed together."""
        return None

    def check(self, metric: Metric, *, rows: int) -> None:
        """Raise if the policy cannot keep its guarantee with this metric."""
        metric.sensitivity(rows)  # a class_floor must fit the rows

    @property
    def error(self) -> float | None:
        """How far an answer can be from the score; None if no bound is known."""
        return None

    @abstractmethod
    def interval(self, answer: float, *, metric: Metric, rows: int, changed: bool = True) -> TermInterval:
        """Return what an attacker may conclude from an answer.

        Parameters
        ----------
        changed
            Whether the answer differs from the team's last one.
        """

    def regret(self, metric: Metric, *, rows: int) -> Regret:  # noqa: ARG002
        """Return how far the best of several answers can be from the best submission, in units of what is compared.

        The noisy means of the terms are compared where the answers have them, else the scores.
        """
        raise InvalidInput(
            f"must answer submissions one by one for a choice among them, got {self.name}", field="policy"
        )

    def sharing(self, epsilon: float | None, *, submissions: int) -> Self:  # noqa: ARG002
        """Return the policy whose answers to all submissions together keep a plan's epsilon."""
        if epsilon is not None:
            raise InvalidInput(
                f"must be none with {self.name}, which has no guarantee, got {epsilon:g}", field="epsilon"
            )
        return self
