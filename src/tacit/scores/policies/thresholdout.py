"""Thresholdout as a leaderboard: a team keeps its last score until the true one is far from it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

from tacit.privacy.errors import BudgetExceeded, InvalidInput
from tacit.privacy.rounding import check_epsilon, exact, format_up, round_up
from tacit.privacy.settings import BOUND, about, count
from tacit.scores.policies.base import Answer, Policy, PolicyState, TermInterval
from tacit.scores.policies.laplace import score_guarantee, share_of

if TYPE_CHECKING:
    import numpy as np

    from tacit.privacy.guarantee import Guarantee
    from tacit.scores.metrics.base import Metric, UnreleasedScore

__all__ = ["Thresholdout"]


@dataclass(frozen=True, kw_only=True)
class Thresholdout(Policy):
    """Answer with the team's last score unless the exact one is too far from it; then answer with noise.

    The reusable holdout with the last released score in the place of the training score (the middle of the range at the
    start): |last - exact| > threshold + Lap(2s) + Lap(4s) releases exact + Lap(s) and spends one refresh. All that is
    released from one refresh to the next costs ``epsilon`` together, charged when its threshold is drawn; the answers
    between cost nothing. With s = 2/(epsilon n) that is 2/(s n).

    Unit: one row's label; neighbors differ in it alone. Assumed: predictions depend on these labels through released
    scores alone. Only for metrics that are a mean over rows.

    Parameters
    ----------
    epsilon
        Of one refresh.

    References
    ----------
    Dwork et al. (2015), "Generalization in adaptive data analysis and holdout reuse", algorithm Thresholdout.

    Examples
    --------
    >>> import numpy as np
    >>> from tacit.scores.metrics import Accuracy
    >>> policy, rng, state = Thresholdout(epsilon=1.0, threshold=0.05, refreshes=3), np.random.default_rng(0), {}
    >>> for right in (900, 905, 990):
    ...     measured = Accuracy().measure(np.zeros(1000, dtype=int), np.arange(1000) >= right)
    ...     answer = policy.release(measured, state=state, rng=rng)
    ...     state = answer.state
    ...     print(round(answer.released, 2), answer.charge)
    0.9 epsilon 1 for one label
    0.9 epsilon 1 for one label
    0.99 None
    """

    name: ClassVar[str] = "thresholdout"
    phrase: ClassVar[str] = "with noise, renewed only when the score changes"
    stateless: ClassVar[bool] = False

    epsilon: float = field(default=0.1, metadata=BOUND)
    threshold: float = field(
        default=0.02,
        metadata=about(
            "The largest difference that passes as agreement, as a share of the metric's range.",
            rule="a finite number >= 0",
            holds=lambda share: 0 <= share < math.inf,
        ),
    )
    refreshes: int = field(default=10, metadata=count("How often a team's score may change."))

    def __post_init__(self) -> None:
        super().__post_init__()
        check_epsilon(self.epsilon)

    def sharing(self, epsilon: float | None, *, submissions: int) -> Self:
        """Return the policy whose refreshes each have an equal share of epsilon."""
        return replace(self, epsilon=share_of(epsilon, self.scores_charged(submissions)))

    def guarantee(self, *, submissions: int = 1) -> Guarantee:
        """Return epsilon for one label from one refresh to the next, and as many as there can be."""
        return score_guarantee(self.epsilon, scores=self.scores_charged(submissions))

    def scores_charged(self, submissions: int) -> int:
        """Return how many refreshes so many submissions can have."""
        return min(submissions, self.refreshes)

    def shown_in_all(self, *, submissions: int) -> tuple[str, str]:  # noqa: ARG002
        """Return that a team sees changes alone."""
        return "changes alone", (
            f"a team gets {self.refreshes} scores that change, with epsilon {format_up(self.epsilon)} each, and no "
            "more scores afterwards."
        )

    def check(self, metric: Metric, *, rows: int) -> None:  # noqa: ARG002
        """Raise unless the metric is a mean over rows."""
        if not metric.additive:
            raise InvalidInput(
                f"must be a mean over rows for {self.name}, got {metric.name}; use laplace", field="metric"
            )

    def release(self, measurement: UnreleasedScore, *, state: PolicyState, rng: np.random.Generator) -> Answer:
        """Return the last score, or a new one."""
        from tacit.scores.policies.holdout import ReusableHoldout

        metric = measurement.metric
        self.check(metric, rows=measurement.rows)
        left = state.get("left", self.refreshes)
        if left == 0:
            raise BudgetExceeded(f"all {self.refreshes} refreshes are spent; this team gets no more scores")
        covered = state.get("bar") is not None
        holdout = ReusableHoldout(
            rows=measurement.rows,
            threshold=self.threshold,
            scale=round_up(Fraction(2) / (exact(self.epsilon) * measurement.rows)),
            refreshes=self.refreshes,
            rng=rng,
            resume={"bar": state["bar"], "left": left} if covered else None,
        )
        low, high = metric.term_bounds
        last = state.get("last", 0.5)
        answer = holdout.answer([last], measurement.shares)
        refreshed = holdout.left < (left if covered else self.refreshes)
        share = min(max(answer, 0.0), 1.0) if refreshed else last
        text = f"{metric.finish(low + share * (high - low)):.6g}"
        return Answer(
            released=float(text),
            text=text,
            charge=None if covered else self.guarantee(),
            state={
                **state,
                "last": share,
                "left": left - refreshed,
                "bar": None if refreshed else holdout.state["bar"],
            },
        )

    def interval(self, answer: float, *, metric: Metric, rows: int, changed: bool = True) -> TermInterval:
        """Return the new mean with its noise, or how far the exact one can be from the last."""
        low, high = metric.term_bounds
        mean, noise = metric.mean_of(answer), 2 / (self.epsilon * rows) * (high - low)
        reach = 0.0 if changed else self.threshold * (high - low)
        return TermInterval(mean - reach, mean + reach, noise if changed else 4 * noise)

    def describe(self) -> str:
        """Return when a score changes."""
        return (
            f"A team keeps its score until the true one is about {100 * self.threshold:.4g}% of the range away; "
            f"{self.refreshes} changes at epsilon {format_up(self.epsilon)} each."
        )
