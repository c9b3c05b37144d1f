"""A host that shows its loss shifted or with the sign turned: a first query finds the shift."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field

import numpy as np

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_epsilon
from tacit.scores.attack.answers import Answers
from tacit.scores.attack.channel import Channel
from tacit.scores.attack.design import Design
from tacit.scores.attack.errors import InconsistentAnswer
from tacit.scores.attack.scale import full_scale
from tacit.scores.attack.steps import Labels, Query, Steps
from tacit.scores.losses import Precision

__all__ = ["CalibratedDesign", "Shifted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shifted(Answers):
    """Answers of the form shift + score, or shift - score where the sign is not known either.

    Parameters
    ----------
    inner
        What the host does besides.
    largest
        Largest size of the shift; it matters for unrounded answers alone, whose rounding grows with them.
    either_sign
        Whether larger may be better.

    Examples
    --------
    >>> from tacit.scores.attack import Rounded
    >>> Shifted(inner=Rounded(decimals=3)).error(largest=1.0) > 0.001
    True
    """

    inner: Answers
    largest: float = 1.0
    either_sign: bool = False
    precision: Precision = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_epsilon(self.largest, name="largest", zero=True)
        object.__setattr__(self, "precision", self.inner.precision)

    def error(self, *, largest: float) -> float:
        """Return twice the inner error: the shift itself is known only up to one.

        Examples
        --------
        >>> from tacit.scores.attack import Bounded
        >>> round(Shifted(inner=Bounded(tau=0.25)).error(largest=1.0), 6)
        0.5
        """
        return 2 * self.inner.error(largest=largest + self.largest)


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibratedDesign(Design):
    """Find shift and sign first, then ask as the inner design does.

    A query of neutral rows tells the shift. For the sign all rows are predicted wrong one way, then the
    other: whatever the labels, a strictly convex loss is then larger on average than the neutral one.

    Examples
    --------
    >>> from tacit.scores.attack import Rounded, plan
    >>> from tacit.scores.losses import sklearn_log_loss
    >>> shifted = Shifted(inner=Rounded(decimals=5), either_sign=True)
    >>> plan(sklearn_log_loss(), rows=100, answers=shifted).design.calibration
    3
    """

    channel: Channel
    inner: Design

    @property
    def calibration(self) -> int:
        """Queries before the labels."""
        return 3 if self._answers.either_sign else 1

    @property
    def queries(self) -> int:
        """Queries to every label."""
        return self.calibration + self.inner.queries

    def steps(self, *, order: Labels | None = None) -> Steps:
        """Return the queries, neutral rows first.

        Examples
        --------
        >>> from tacit.scores.attack import Rounded, plan
        >>> from tacit.scores.losses import sklearn_log_loss
        >>> shifted = Shifted(inner=Rounded(decimals=5))
        >>> next(plan(sklearn_log_loss(), rows=3, answers=shifted).steps()).predictions
        array([0.5, 0.5, 0.5])
        """
        unknown = np.full(self.channel.rows, -1, dtype=np.int64)
        neutral = self.channel.loss.neutral(self.channel.rows, precision=self.channel.precision)
        shown = yield Query(neutral, unknown)
        sign = 1.0
        if self._answers.either_sign:
            sign = yield from self._sign(shown, unknown)
        true = self.channel.score(neutral, np.zeros(self.channel.rows, dtype=np.int64))
        inner = self.inner.steps(order=order)
        query = next(inner)
        while True:
            answer = yield query
            try:
                query = inner.send(true + sign * (answer - shown))
            except StopIteration as end:
                labels: Labels = end.value
                return labels

    @property
    def _answers(self) -> Shifted:
        if not isinstance(self.channel.answers, Shifted):
            raise InvalidInput(f"answers must be Shifted to be calibrated, got {self.channel.answers}")
        return self.channel.answers

    def _sign(self, shown: float, unknown: Labels) -> Generator[Query, float, float]:
        scale = full_scale(self.channel, digits=(0,) + (1,) * (self.channel.loss.classes - 1))
        rows = np.arange(self.channel.rows)
        gained = 0.0
        for weight in (1, -1):
            predictions = scale.predictions(rows, np.full(self.channel.rows, weight))
            gained += (yield Query(predictions, unknown)) - shown
        if abs(gained) <= 4 * self.channel.answers.error(largest=self._answers.largest):
            raise InconsistentAnswer
        return 1.0 if gained > 0 else -1.0
