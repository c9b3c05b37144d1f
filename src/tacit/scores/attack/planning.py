"""How many queries until the labels are public: worked out beforehand, with what no attack can beat beside it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count
from tacit.scores.attack.answers import Answers, Bounded, Exact, RandomNoise
from tacit.scores.attack.calibrated import CalibratedDesign, Shifted
from tacit.scores.attack.channel import Channel
from tacit.scores.attack.design import Design
from tacit.scores.attack.digits import DigitDesign
from tacit.scores.attack.joint import JointDesign
from tacit.scores.attack.metrics import Metric
from tacit.scores.attack.repeated import hadamard_designs, repeated_designs
from tacit.scores.attack.steps import Labels, Steps
from tacit.scores.losses import Loss
from tacit.scores.theory import queries_for

__all__ = ["Ceilings", "Plan", "plan"]

_FINE = 2.0**30
_MOST_ROWS = 10**10  # as many bytes of predictions no host takes in one submission
_FORMULAS = {
    "counting": "log2(1 + N L) / log2 K",
    "entropy": "(1/2) log2(2 pi e ((sqrt(N) L/2 + 1/2)^2 + 1/12)) / log2 K",
}
_NOISE_FORMULAS = {
    "counting": "infinite",
    "entropy": "((1/2) log2(2 pi e (N (R/(2 N))^2 + variance of the noise)) - entropy of the noise) / log2 K",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings:
    """Labels a query that no attack can beat, by two arguments; L is the largest weight R/u of one label.

    Parameters
    ----------
    counting
        An answer takes at most 1 + N L values. Holds for every attack; infinite under random noise.
    entropy
        No answer of this variance has more entropy; under random noise, no channel carries more. Holds for
        queries fixed beforehand and labels all equally likely.
    formulas
        The formula of each, to print beside it.

    Examples
    --------
    >>> from tacit.scores.attack import Rounded
    >>> from tacit.scores.losses import sklearn_log_loss
    >>> ceilings = plan(sklearn_log_loss(), rows=2201, answers=Rounded(decimals=5)).ceilings
    >>> round(ceilings.counting, 1), round(ceilings.entropy, 1)
    (21.8, 17.3)
    """

    counting: float
    entropy: float
    formulas: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The design to ask by, what it takes, and the ceilings.

    Parameters
    ----------
    metric
        The loss or metric that the host shows.
    rows
        Number of rows the host scores.
    answers
        What the host does to the score.
    design
        How to ask.
    ceilings
        What no attack can beat.
    limit_per_day
        Queries a day, if the host limits them.

    Examples
    --------
    >>> from tacit.scores.attack import Rounded
    >>> from tacit.scores.losses import sklearn_log_loss
    >>> worked_out = plan(sklearn_log_loss(), rows=2201, answers=Rounded(decimals=5), limit_per_day=5)
    >>> worked_out.queries, worked_out.days
    (143, 29)
    """

    metric: Loss | Metric
    rows: int
    answers: Answers | RandomNoise
    design: Design
    ceilings: Ceilings
    limit_per_day: int | None = None

    @property
    def queries(self) -> int:
        """Queries to every label."""
        return self.design.queries

    @property
    def labels_per_query(self) -> float:
        """Rows over queries.

        Examples
        --------
        >>> from tacit.scores.attack import Accuracy
        >>> round(plan(Accuracy(), rows=2201).labels_per_query, 2)
        4.41
        """
        return self.rows / self.queries

    @property
    def days(self) -> int | None:
        """Days to every label under the daily limit, none if there is no limit."""
        return None if self.limit_per_day is None else -(-self.queries // self.limit_per_day)

    def steps(self, *, order: Labels | None = None) -> Steps:
        """Return the queries, asking for rows in ``order``.

        Examples
        --------
        >>> from tacit.scores.attack import Accuracy
        >>> next(plan(Accuracy(), rows=3).steps()).predictions
        array([0, 0, 0])
        """
        return self.design.steps(order=order)

    def to_json(self) -> dict[str, Any]:
        """Return the plan's numbers as plain JSON.

        Examples
        --------
        >>> from tacit.scores.attack import Accuracy
        >>> plan(Accuracy(), rows=3).to_json()["queries"]
        4
        """
        return {
            "rows": self.rows,
            "classes": self.metric.classes,
            "queries": self.queries,
            "labels_per_query": self.labels_per_query,
            "days": self.days,
            "design": type(self.design).__name__,
            "depends_on_labels": self.design.expected,
            "failure_probability": self.design.failure,
            "ceiling_labels_per_query": self.ceilings.entropy,
            "ceiling": f"entropy: {self.ceilings.formulas['entropy']}",
            "ceiling_by_counting": self.ceilings.counting if math.isfinite(self.ceilings.counting) else None,
        }


def plan(
    metric: Loss | Metric,
    *,
    rows: int,
    answers: Answers | RandomNoise | None = None,
    limit_per_day: int | None = None,
    design: Callable[..., Design] | None = None,
) -> Plan:
    """Return how to get all labels from a host in the fewest queries.

    Parameters
    ----------
    metric
        The loss (:mod:`tacit.scores.losses`) or metric (:class:`Accuracy`, :class:`F1`, :class:`AUC`,
        :class:`RootMeanSquaredError`) that the host shows.
    rows
        Number of rows the host scores.
    answers
        What the host does to the score; default: nothing, in binary64.
    limit_per_day
        Queries a day, if the host limits them.
    design
        For losses: the class of design to use; default: :class:`DigitDesign` or :class:`JointDesign`, whichever
        promises fewer queries. :class:`CrowdedDesign` promises nothing, and takes fewer still.

    Returns
    -------
    Plan
        A promise: run against the real scorer it takes this many queries and recovers every label.

    Raises
    ------
    InvalidInput
        If the metric cannot tell labels apart under these answers, naming the bound.

    Examples
    --------
    >>> from tacit.scores.attack import DigitDesign, Rounded
    >>> from tacit.scores.losses import sklearn_log_loss
    >>> plan(sklearn_log_loss(), rows=2201).queries
    48
    >>> plan(sklearn_log_loss(), rows=2201, answers=Rounded(decimals=5), design=DigitDesign).queries
    201
    """
    answers = Exact() if answers is None else answers
    if check_count(rows, name="rows") > _MOST_ROWS:
        raise InvalidInput(f"rows must be at most {_MOST_ROWS:,} for a plan to be worked out, got {rows:,}")
    if limit_per_day is not None:
        check_count(limit_per_day, name="limit_per_day")
    if isinstance(metric, Loss) and not metric.graded:
        raise InvalidInput(f"metric must let loss differences be chosen, got {metric}: it cannot separate labels")
    return Plan(
        metric=metric,
        rows=rows,
        answers=answers,
        design=_fewest(_designs(metric, rows, answers, design), metric=metric, rows=rows, answers=answers),
        ceilings=_ceilings(metric, rows, answers),
        limit_per_day=limit_per_day,
    )


def _fewest(options: Iterator[Design], *, metric: Loss | Metric, rows: int, answers: Answers | RandomNoise) -> Design:
    """Return the design with the fewest queries of those that can tell labels apart at all."""
    best: Design | None = None
    least = math.inf
    refusal = InvalidInput(f"answers must tell one row's label: {answers} hides it under {metric}, {rows} rows")
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
    metric: Loss | Metric, rows: int, answers: Answers | RandomNoise, design: Callable[..., Design] | None
) -> Iterator[Design]:
    if isinstance(answers, RandomNoise):
        yield from repeated_designs(lambda bounded: _designs(metric, rows, bounded, design), noise=answers)
        if isinstance(metric, Loss) and design is None:
            yield from hadamard_designs(metric, rows=rows, noise=answers)
    elif not isinstance(metric, Loss):
        if isinstance(answers, Shifted):
            raise InvalidInput(f"answers must not be Shifted for {metric}: only a loss can be calibrated")
        yield from metric.designs(rows=rows, answers=answers)
    else:
        channel = Channel(loss=metric, rows=rows, answers=answers)
        options = [DigitDesign, JointDesign] if design is None else [design]
        for option in options:
            if design is None and option is JointDesign and _is_fine(channel):
                continue  # so many digits in an answer that joining them gains little and floats do not hold it
            built = option(channel=channel)
            yield CalibratedDesign(channel=channel, inner=built) if isinstance(answers, Shifted) else built


def _is_fine(channel: Channel) -> bool:
    return channel.reach(unknown=channel.rows) / channel.unit(unknown=channel.rows) > _FINE


def _ceilings(metric: Loss | Metric, rows: int, answers: Answers | RandomNoise) -> Ceilings:
    if isinstance(answers, RandomNoise):
        bits = answers.capacity(rows * (_one_label(metric, rows, answers.scale) / 2) ** 2)
        return Ceilings(counting=math.inf, entropy=bits / math.log2(metric.classes), formulas=_NOISE_FORMULAS)
    bounds = queries_for(rows, largest_weight=_largest_weight(metric, rows, answers), classes=metric.classes)
    return Ceilings(counting=rows / bounds.counting, entropy=rows / bounds.entropy, formulas=_FORMULAS)


def _largest_weight(metric: Loss | Metric, rows: int, answers: Answers) -> float:
    if isinstance(answers, Exact):
        answers = replace(answers, growth=0.5)  # what no summation can avoid
    if not isinstance(metric, Loss):
        return metric.largest_weight(rows=rows, answers=answers)
    channel = Channel(loss=metric, rows=rows, answers=answers)
    unknown = 1 if isinstance(answers, Exact) else rows  # the smaller an unrounded score, the more it tells
    return channel.reach(unknown=unknown) / channel.unit(unknown=unknown)


def _one_label(metric: Loss | Metric, rows: int, scale: float) -> float:
    """Return how much one label can move the score."""
    return 2 * scale * _largest_weight(metric, rows, Bounded(tau=scale))
