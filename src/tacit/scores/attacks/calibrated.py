"""A host that shows its loss shifted or negated: a first query finds the shift."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from tacit.scores.attacks.channel import LossChannel
from tacit.scores.attacks.design import Labels, QueryDesign, ScoreQuery, Steps
from tacit.scores.attacks.errors import InconsistentAnswer
from tacit.scores.attacks.scale import full_scale

__all__ = ["CalibratedDesign"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibratedDesign(QueryDesign):
    """Find shift and sign first, then ask as the inner design does.

    A query of neutral rows reveals the shift. For the sign all rows are predicted wrong one way, then the
    other: whatever the labels, a strictly convex loss is then larger on average than the neutral one.
    """

    channel: LossChannel
    inner: QueryDesign

    @property
    def calibration(self) -> int:
        """Queries before the labels."""
        return 3 if self.channel.answers.either_sign else 1

    @property
    def queries(self) -> int:
        """Queries to every label."""
        return self.calibration + self.inner.queries

    def steps(self, *, order: Labels | None = None) -> Steps:
        """Return the queries, neutral rows first."""
        unknown = np.full(self.channel.rows, -1, dtype=np.int64)
        neutral = self.channel.loss.neutral(self.channel.rows, precision=self.channel.precision)
        shown = yield ScoreQuery(neutral, unknown)
        sign = 1.0
        if self.channel.answers.either_sign:
            sign = yield from self._sign(shown, unknown)
        true = self.channel.score(np.zeros(self.channel.rows, dtype=np.int64), neutral)
        inner = self.inner.steps(order=order)
        query = next(inner)
        while True:
            answer = yield query
            try:
                query = inner.send(true + sign * (answer - shown))
            except StopIteration as end:
                labels: Labels = end.value
                return labels

    def _sign(self, shown: float, unknown: Labels) -> Generator[ScoreQuery, float, float]:
        scale = full_scale(self.channel, digits=(0,) + (1,) * (self.channel.loss.classes - 1))
        rows = np.arange(self.channel.rows)
        gained = 0.0
        for weight in (1, -1):
            predictions = scale.predictions(rows, np.full(self.channel.rows, weight))
            gained += (yield ScoreQuery(predictions, unknown)) - shown
        if abs(gained) <= 4 * self.channel.answers.error(largest=self.channel.answers.shift or 0.0):
            raise InconsistentAnswer
        return 1.0 if gained > 0 else -1.0
