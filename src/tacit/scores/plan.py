"""What is asked for on the scores surface."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from tacit.privacy import plan
from tacit.privacy.errors import InvalidInput
from tacit.privacy.settings import about
from tacit.privacy.trial import AuditTrial
from tacit.privacy.unit import Unit
from tacit.privacy.words import counted
from tacit.scores.metrics import F1, Accuracy, Auc, Brier, LogLoss, Mae, Rmse
from tacit.scores.policies import Bounded, Exact, Ladder, Laplace, Policy, Rounded, Thresholdout

__all__ = ["Plan"]

_MOST_SUBMISSIONS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Plan(plan.Plan):
    """The scores that are released for submissions, and under which guarantee.

    Unit: one row's label, or with ``rows_per_person`` the labels of so many rows of one person; with ``person`` other
    rows of a person are not scored. Neighbors differ in these labels alone. Not protected: features, predictions, the
    number of rows, and which classes occur unless they are declared.

    Examples
    --------
    >>> plan = Plan(label="ill", epsilon=1, metric="auc:class_floor=50", submissions=4)
    >>> plan.bound_policy
    Laplace(epsilon=0.25)
    >>> plan.describe()
    'AUC with Laplace noise, 4 submissions, epsilon 1'
    >>> Plan(label="ill", epsilon=1, policy="rounded:decimals=5")
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: epsilon must be none with rounded, which has no guarantee, got 1
    """

    surface: ClassVar[str] = "scores"
    unused: ClassVar[Mapping[str, str]] = {
        "delta": "the noise on scores has pure epsilon",
        "features": "scores depend on labels and submissions",
    }
    released: ClassVar[str] = "A leaderboard shows how well each submission predicts the hidden labels."
    safer: ClassVar[str] = "answer with Laplace noise, at epsilon 1 for all submissions together"
    more_useful: ClassVar[str] = "or answer fewer submissions"

    metric: LogLoss | Brier | Accuracy | Auc | F1 | Rmse | Mae = field(
        default=LogLoss(), metadata=about("The metric of a submission's score.")
    )
    policy: Laplace | Thresholdout | Ladder | Rounded | Bounded | Exact = field(
        default=Laplace(),
        metadata=about("How a score is answered; ladder, rounded, bounded and exact require --epsilon none."),
    )
    submissions: int = field(
        default=1,
        metadata=about(
            "How many submissions are answered at most; epsilon is for all of them together.",
            rule=f"an integer from 1 to {_MOST_SUBMISSIONS:,}",
            holds=lambda submissions: 1 <= submissions <= _MOST_SUBMISSIONS,
        ),
    )

    @property
    def suffix(self) -> str:
        """A JSON document."""
        return ".json"

    def check(self) -> None:
        """Raise if two fields do not fit each other."""
        super().check()
        if self.unit not in (None, Unit.LABEL):
            raise InvalidInput(f"must be label, got {str(self.unit)!r}", field="unit")
        if self.person == self.label:
            raise InvalidInput("must not name the private column", field="person")
        if self.classes is not None and not self.metric.classes:
            raise InvalidInput(f"requires a metric of classes, got {self.metric.name}", field="classes")
        self._check_unbound("metric", "classes follow from the labels")
        self._check_unbound("policy", "epsilon follows from the plan's epsilon and submissions")
        _ = self.bound_policy

    def _check_unbound(self, name: str, why: str) -> None:
        given = getattr(self, name)
        if given != given.unbound:
            raise InvalidInput(f"must be given as {given}, got {given!r}: its {why}", field=name)

    @property
    def bound_policy(self) -> Policy:
        """The policy with the epsilon of one score."""
        return self.policy.sharing(self.epsilon, submissions=self.submissions)

    def describe(self) -> str:
        """Return what is released, in words."""
        count = counted(self.submissions, "submission")
        return f"{self.metric.title} {self.policy.in_words()}, {count}, {self.cost or 'no guarantee'}"

    def at(self, epsilon: float) -> Self:
        """Return the same scores at another epsilon, by Laplace noise where the policy keeps no guarantee."""
        return replace(self, epsilon=epsilon, policy=Laplace() if self.epsilon is None else self.policy)

    def trial(self) -> AuditTrial:
        """Withhold no rows: an offer has no scores to learn from."""
        return AuditTrial(withheld="none", learn=None)
