"""A release of scores: the answers to submissions, or an offer to answer them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from tacit.privacy import releases
from tacit.privacy.errors import InvalidRelease
from tacit.privacy.guarantee import AnyGuarantee, Guarantee
from tacit.privacy.plan import Plan as AnyPlan
from tacit.privacy.releases import DocumentMember, ReleaseMember
from tacit.privacy.words import counted
from tacit.scores.metrics import Metric
from tacit.scores.plan import Plan
from tacit.scores.policies import Policy
from tacit.scores.policies.laplace import score_guarantee

__all__ = ["Release", "guarantee_for"]

MEMBER = "scores"


@dataclass(frozen=True, kw_only=True, eq=False)
class Release(releases.Release):
    """The answers to submissions; without any it is an offer, which states the rules and reveals no label.

    Parameters
    ----------
    clipped
        How many labels are beyond the metric's range and count as its nearer end: for the owner, not in the release.
    """

    plan_type: ClassVar[type[AnyPlan]] = Plan
    member_types: ClassVar[tuple[type[ReleaseMember], ...]] = (DocumentMember,)

    clipped: int = 0

    @cached_property
    def plan(self) -> Plan:
        """The plan."""
        if self.header.plan is None:
            raise InvalidRelease("a release of scores must have its plan")
        return Plan.from_json(self.header.plan)

    @property
    def answers(self) -> list[dict[str, Any]]:
        """One answer per submission: ``score``, ``text``, and ``mean`` where noise was added to a mean of terms."""
        member = self.members[MEMBER]
        assert isinstance(member, DocumentMember)
        return list(member.value["answers"])

    @property
    def scores(self) -> tuple[float, ...]:
        """The released scores, in the order of the submissions."""
        return tuple(float(answer["score"]) for answer in self.answers)

    @property
    def is_offer(self) -> bool:
        """Whether no submission was answered yet."""
        return not self.answers

    @property
    def rows(self) -> int:
        """How many rows are scored."""
        return int(self.settled["rows"])

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The class list; None if labels are numbers."""
        known = self.settled["classes"]
        return None if known is None else tuple(known)

    @property
    def metric(self) -> Metric:
        """The plan's metric, for the classes of the labels."""
        return self.plan.metric.for_classes(len(self.classes or ()))

    @property
    def policy(self) -> Policy:
        """The plan's policy, with the epsilon of one score."""
        return self.plan.bound_policy

    def check(self) -> AnyGuarantee:
        """Return what the noise keeps, or raise if more was answered than planned."""
        if not isinstance(self.members.get(MEMBER), DocumentMember):
            raise InvalidRelease("a release of scores must have scores")
        answered = len(self.scores)
        if answered > self.plan.submissions:
            raise InvalidRelease(f"{answered} answers were released and the plan allows {self.plan.submissions}")
        if self.settled["noise_scale"] != noise_scale(self.policy, self.metric, rows=self.rows):
            raise InvalidRelease("the header states other noise than its plan gives")
        return guarantee_for(self.plan, answered=answered, declared=bool(self.settled["declared"]))

    def notes(self) -> list[str]:
        """Return the scores, the noise, and what is not protected."""
        order = "lower" if self.metric.lower_is_better else "higher"
        title = self.metric.title[0].upper() + self.metric.title[1:]
        scores = ", ".join(answer["text"] for answer in self.answers)
        said = f"{title} {scores}" if scores else f"An offer of {self.metric.title}"
        lines = [f"{said} on {counted(self.rows, 'row')}; {order} is better."]
        if scale := self.settled["noise_scale"]:
            of = "mean of the squared errors" if self.metric.root else "score"
            lines.append(f"Noise of scale {scale:.3g} on the {of}.")
        if self.clipped:
            low, high = self.metric.label_range
            lines.append(f"{counted(self.clipped, 'label')} beyond {low:g} to {high:g} count as the nearer end.")
        lines += self._notes_on_persons()
        kept = "" if isinstance(self.guarantee, Guarantee) else "the labels, "
        return [*lines, f"Not protected: {kept}features, predictions and the number of rows."]


def guarantee_for(plan: Plan, *, answered: int, declared: bool) -> AnyGuarantee:
    """Return what the answers to so many submissions guarantee; 0 is an offer, for all that the plan allows.

    Parameters
    ----------
    declared
        Whether the classes were declared, not computed from the labels.
    """
    count = answered or plan.submissions
    if count == plan.submissions and plan.epsilon is not None:
        kept: AnyGuarantee = score_guarantee(plan.epsilon, scores=1)  # all shares together are one score's epsilon
    else:
        kept = plan.bound_policy.guarantee(submissions=count)
    if not isinstance(kept, Guarantee):
        return kept
    answers = f"at most {counted(count, 'submission')} of all teams together {'is' if count == 1 else 'are'} answered"
    offered = () if answered else (answers,)
    occurring = () if declared else ("which classes occur is public",)
    persons = () if plan.person is None else ("which rows belong to one person is public",)
    assumed = (*kept.assumptions, *offered, *occurring, *persons)
    return replace(kept, assumptions=assumed).for_group(rows=plan.rows_per_person)


def noise_scale(policy: Policy, metric: Metric, *, rows: int) -> float:
    """Return the scale of the noise on the mean of the terms; 0 without noise of that kind."""
    policy.check(metric, rows=rows)
    return policy.interval(metric.bounds[0], metric=metric, rows=rows).scale
