"""The Ladder: a team's score changes only when it beats its best by a step."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from tacit.privacy.rounding import check_count
from tacit.privacy.settings import about
from tacit.scores.policies.base import Answer, Policy, PolicyState, TermInterval

if TYPE_CHECKING:
    import numpy as np

    from tacit.privacy.guarantee import NoGuarantee
    from tacit.scores.metrics.base import Metric, UnreleasedScore

__all__ = ["Ladder"]


@dataclass(frozen=True, kw_only=True)
class Ladder(Policy):
    """Show the team's best score so far, rounded to a multiple of the step, raised only by more than a step.

    The score is turned into a loss in [0, 1] over the metric's public range; a new loss counts if it is below the best
    shown by more than ``step``. Not differentially private, and no guarantee for a label: it bounds what k submissions
    reveal together to (1/step + 2) log2(4 k/step) bits, which may be every label of a small set.

    Parameters
    ----------
    step
        As a share of the metric's range, in (0, 1]. Where all losses are in [0, 1] it is the step of the score.

    References
    ----------
    Blum, Hardt (2015), "The Ladder: a reliable leaderboard for machine learning competitions", Figure 1 and the proof
    of Theorem 3.1.

    Examples
    --------
    >>> import numpy as np
    >>> from tacit.scores.metrics import Accuracy
    >>> ladder, rng, state = Ladder(step=0.1), np.random.default_rng(0), {}
    >>> for wrong in (5, 4, 2):
    ...     measured = Accuracy().measure([0] * 10, [1] * wrong + [0] * (10 - wrong))
    ...     answer = ladder.release(measured, state=state, rng=rng)
    ...     state = answer.state
    ...     print(answer.text)
    0.5
    0.5
    0.8
    """

    name: ClassVar[str] = "ladder"
    phrase: ClassVar[str] = "as a team's best so far, in steps"
    stateless: ClassVar[bool] = False

    step: float = field(
        default=0.01,
        metadata=about(
            "By how much a score must improve to be shown, as a share of the metric's range.",
            rule="in (0, 1]",
            holds=lambda step: 0 < step <= 1,
        ),
    )

    def guarantee(self, *, submissions: int = 1) -> NoGuarantee:  # noqa: ARG002
        """Return none: the first score shown is the score, rounded."""
        from tacit.privacy.guarantee import NoGuarantee

        return NoGuarantee(reason="the Ladder shows scores without noise, only fewer of them")

    def release(self, measurement: UnreleasedScore, *, state: PolicyState, rng: np.random.Generator) -> Answer:  # noqa: ARG002
        """Return the best score shown so far, this one included if it is better by more than a step."""
        best, loss = state.get("best"), measurement.loss
        if best is None or loss < best * self.step - self.step:
            best = math.floor(loss / self.step + 0.5)
        text = f"{self._shown(best, measurement.metric):.12g}"
        kept = {**state, "best": best}
        return Answer(released=float(text), text=text, charge=self.guarantee(), state=kept)

    def interval(self, answer: float, *, metric: Metric, rows: int, changed: bool = True) -> TermInterval:  # noqa: ARG002
        """Return what an answer reveals about the loss above the best of the range, in units of the score."""
        low, high = metric.bounds
        loss = answer - low if metric.lower_is_better else high - answer
        step = self.step * (high - low)
        return TermInterval(loss - step / 2, loss + step / 2) if changed else TermInterval(loss - step, math.inf)

    def bits(self, *, submissions: int) -> float:
        """Return a bound on what all answers to one team reveal, in bits: (1/step + 2) log2(4 k/step)."""
        return (1 / self.step + 2) * math.log2(4 * check_count(submissions, name="submissions") / self.step)

    @property
    def improvement(self) -> float:
        """The step."""
        return self.step

    def shown_in_all(self, *, submissions: int) -> tuple[str, str]:
        """Return that a team sees only improvements, and in how many bits."""
        return "improvements alone", (
            f"the Ladder shows only improvements, and one team's {submissions:,} submissions reveal at most "
            f"{self.bits(submissions=submissions):,.0f} bits together. That bound is no guarantee for a label, and "
            "each new team starts again."
        )

    def describe(self) -> str:
        """Return what is shown."""
        share = f"{100 * self.step:.4g}%"
        return f"A team sees its best score so far, in steps of {share} of the range, raised only by more than a step."

    def _shown(self, multiple: int, metric: Metric) -> float:
        low, high = metric.bounds
        loss = min(1.0, multiple * self.step)
        return low + loss * (high - low) if metric.lower_is_better else high - loss * (high - low)
