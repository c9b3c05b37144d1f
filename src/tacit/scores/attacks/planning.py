"""How many queries until all labels are known, computed beforehand, with upper bounds for any attack."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count
from tacit.scores.attacks.answers import HostAnswers
from tacit.scores.attacks.channel import LossChannel, revealed_by
from tacit.scores.attacks.design import Labels, QueryDesign, Steps
from tacit.scores.attacks.digits import DigitDesign
from tacit.scores.attacks.joint import JointDesign
from tacit.scores.metrics import Metric, RevealedTotal
from tacit.scores.policies import Policy

__all__ = ["AttackPlan", "LabelsPerQueryBounds", "plan_attack"]

_FINE = 2.0**30
_MOST_ROWS = 10**10  # as many bytes of predictions no host takes in one submission
_MOST_CLASSES = 1_000  # choosing among more radices takes longer than all other work
_FORMULAS = {
    "counting": "log2(1 + N L) / log2 K",
    "entropy": "(1/2) log2(2 pi e ((sqrt(N) L/2 + 1/2)^2 + 1/12)) / log2 K",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsPerQueryBounds:
    """Labels per query that no attack can beat, by two arguments; L is the largest weight R/u of one label.

    An integer of variance V has at most the entropy (1/2) log2(2 pi e (V + 1/12)), and an answer that weighs N labels
    by up to L has V = (sqrt(N) L/2 + 1/2)^2 at most.

    Parameters
    ----------
    counting
        An answer takes at most 1 + N L values. Holds for every attack.
    entropy
        No answer of this variance has more entropy. Holds for queries fixed beforehand and labels all equally likely.

    References
    ----------
    Lindstrom (1965); Massey (1988) for the entropy.
    """

    counting: float
    entropy: float
    formulas: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackPlan:
    """The design, its number of queries, and the upper bounds."""

    metric: Metric
    rows: int
    answers: HostAnswers
    design: QueryDesign
    bounds: LabelsPerQueryBounds
    per_day: int | None = None

    @property
    def classes(self) -> int:
        """Number of labels that a row may have."""
        return _revealed(self.metric).classes

    @property
    def queries(self) -> int:
        """Queries to every label."""
        return self.design.queries

    @property
    def labels_per_query(self) -> float:
        """Rows over queries."""
        return self.rows / self.queries

    @property
    def days(self) -> int | None:
        """Days to every label under the daily limit, none if there is no limit."""
        return None if self.per_day is None else -(-self.queries // self.per_day)

    def steps(self, *, order: Labels | None = None) -> Steps:
        """Return the queries, asking for rows in ``order``."""
        return self.design.steps(order=order)

    def to_json(self) -> dict[str, Any]:
        """Return the plan's numbers as plain JSON."""
        return {
            "rows": self.rows,
            "classes": self.classes,
            "queries": self.queries,
            "labels_per_query": self.labels_per_query,
            "days": self.days,
            "design": type(self.design).__name__,
            "depends_on_labels": self.design.expected,
            "failure_probability": self.design.failure,
            "upper_bound_labels_per_query": self.bounds.entropy,
            "upper_bound": f"entropy: {self.bounds.formulas['entropy']}",
            "upper_bound_by_counting": self.bounds.counting if math.isfinite(self.bounds.counting) else None,
        }


def plan_attack(
    metric: Metric,
    *,
    rows: int,
    policy: Policy | HostAnswers | None = None,
    per_day: int | None = None,
    design: Callable[..., QueryDesign] | None = None,
) -> AttackPlan:
    """Return how to get all labels from a host in the fewest queries.

    Parameters
    ----------
    policy
        How the host answers: a policy whose answers are within a known distance of the score (default: exact), or
        :class:`HostAnswers` for another number system.
    design
        For means of row losses: the class of design to use; default: :class:`DigitDesign` or :class:`JointDesign`,
        whichever takes fewer queries. The number of queries of :class:`CrowdedDesign` is not fixed beforehand, and
        smaller still.

    Examples
    --------
    >>> from tacit.scores.attacks import DigitDesign
    >>> from tacit.scores.metrics import SKLEARN_FLOOR, LogLoss
    >>> from tacit.scores.policies import Rounded
    >>> metric = LogLoss(floor=SKLEARN_FLOOR)
    >>> plan_attack(metric, rows=2201).queries
    48
    >>> plan_attack(metric, rows=2201, policy=Rounded(decimals=5), design=DigitDesign).queries
    201
    """
    answers = HostAnswers.of(policy)
    if check_count(rows, name="rows") > _MOST_ROWS:
        raise InvalidInput(f"must be at most {_MOST_ROWS:,} for a plan, got {rows:,}", field="rows")
    if per_day is not None:
        check_count(per_day, name="per_day")
    revealed = _revealed(metric)
    options = _designs(revealed, rows, answers, design)
    return AttackPlan(
        metric=metric,
        rows=rows,
        answers=answers,
        design=_fewest(options, metric=metric, rows=rows, answers=answers),
        bounds=_bounds(revealed, rows, answers),
        per_day=per_day,
    )


def _revealed(metric: Metric) -> RevealedTotal:
    revealed = revealed_by(metric)
    if revealed.row_losses is not None and not revealed.row_losses.loss.graded:
        raise InvalidInput(
            f"must let loss differences be chosen, got {metric!r}: it cannot separate labels", field="metric"
        )
    if revealed.classes > _MOST_CLASSES:
        raise InvalidInput(
            f"must have at most {_MOST_CLASSES:,} classes for a plan, got {revealed.classes:,}", field="metric"
        )
    return revealed


def _fewest(options: Iterator[QueryDesign], *, metric: Metric, rows: int, answers: HostAnswers) -> QueryDesign:
    """Return the design with the fewest queries of those that can separate labels at all."""
    best: QueryDesign | None = None
    least = math.inf
    refusal = InvalidInput(
        f"must reveal one row's label: {answers} hides it under {metric!r}, {rows} rows", field="answers"
    )
    for option in options:
        try:
            if (queries := option.queries) < least:
                best, least = option, queries
        except InvalidInput as error:
            refusal = error
    if best is None:
        raise refusal
    return best


def _designs(
    revealed: RevealedTotal, rows: int, answers: HostAnswers, design: Callable[..., QueryDesign] | None
) -> Iterator[QueryDesign]:
    if (losses := revealed.row_losses) is not None:
        yield from _of_losses(LossChannel(loss=losses.loss, rows=rows, answers=answers, root=losses.root), design)
    else:
        yield revealed.design(rows=rows, answers=answers, classes=revealed.classes)


def _of_losses(channel: LossChannel, design: Callable[..., QueryDesign] | None) -> Iterator[QueryDesign]:
    # so many digits in an answer that joining them gains little and floats do not hold it
    fine = not channel.root and channel.reach(unknown=channel.rows) / channel.unit(unknown=channel.rows) > _FINE
    best: list[Callable[..., QueryDesign]] = [DigitDesign] if fine else [DigitDesign, JointDesign]
    for option in best if design is None else [design]:
        yield option(channel=channel)


def _bounds(revealed: RevealedTotal, rows: int, answers: HostAnswers) -> LabelsPerQueryBounds:
    weight = _largest_weight(revealed, rows, answers)
    variance = (math.sqrt(rows) * weight / 2 + 0.5) ** 2 + 1 / 12
    return LabelsPerQueryBounds(
        counting=math.log(1 + rows * weight, revealed.classes),
        entropy=math.log(2 * math.pi * math.e * variance, revealed.classes) / 2,
        formulas=_FORMULAS,
    )


def _largest_weight(revealed: RevealedTotal, rows: int, answers: HostAnswers) -> float:
    """Return how much one label moves the score, in units of what an answer resolves."""
    if answers.unrounded:
        answers = replace(answers, growth=0.5)  # what no summation can avoid
    if revealed.row_losses is None:
        return revealed.largest_weight(rows, answers.error(largest=1.0))
    if revealed.plain_loss is None:
        error = answers.error(largest=0.5)  # at a score of 1/2
        return 1.0 / (2 * rows * error * (1 + error))
    channel = LossChannel(loss=revealed.plain_loss, rows=rows, answers=answers)
    unknown = 1 if answers.unrounded else rows  # the smaller an unrounded score, the more it reveals
    return channel.reach(unknown=unknown) / channel.unit(unknown=unknown)
