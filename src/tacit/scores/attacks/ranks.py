"""AUC: a score is a sum of ranks of the positives, and ties leave rows out."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, field

import numpy as np

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count
from tacit.scores.attacks.answers import HostAnswers
from tacit.scores.attacks.design import Labels, QueryDesign, ScoreQuery, Steps, all_rows
from tacit.scores.attacks.errors import InconsistentAnswer
from tacit.scores.attacks.weights import digits_of
from tacit.scores.losses.precision import Numbers
from tacit.scores.metrics import RankSums

__all__ = ["RankDesign"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankDesign(QueryDesign):
    """Put a few asked rows above all others, which are tied, with known rows between them as spacers.

    AUC P M = sum of the ranks of the P positives - P (P + 1)/2, M the number of negatives, tied rows sharing
    their mean rank. The ranks of the asked rows over the tie are then B + 0, B + g, B + 2 g, B + 4 g, ...: the sum of
    those that are positive reveals how many they are, from B, and which, from the rest. g is what an answer resolves.
    The first row alone reveals the number of positives.

    References
    ----------
    Whitehill (2016), "Exploiting an oracle that reports AUC scores in machine learning contests".
    """

    gradual = True

    rows: int
    answers: HostAnswers = field(default_factory=HostAnswers)
    classes: int = 2

    def __post_init__(self) -> None:
        check_count(self.rows, name="rows", least=2)
        blur = self.answers.error(largest=1.0)
        if blur >= 1 / (2 * self.rows):
            raise InvalidInput(
                f"must reveal one label of {self.rows} rows: auc may move by only {1 / (2 * self.rows):.3g} "
                f"with the top row's label, and {self.answers} blurs it by {blur:.3g}",
                field="answers",
            )

    @property
    def queries(self) -> int:
        """Queries to every label; with blurred answers for classes of equal size."""
        known = count = 1
        if self.expected:
            known = min(self.rows, 2 * math.ceil(self._needed(self.rows / 2)))
            count = known + 1
        gap = self._gap(self.rows * self.rows / 4)
        while known < self.rows:
            length = _length(self.rows, known, gap)
            spacers = _spacers(length + 1, gap)  # as many queries of this length as leave too few known rows for more
            alike = -(-((spacers if known < spacers < self.rows else self.rows) - known) // length)
            known += alike * length
            count += alike
        return count

    @property
    def expected(self) -> bool:
        """Whether the first answer alone does not determine the number of positives, so that more rows are needed."""
        return self._needed(self.rows) > 1

    def steps(self, *, order: Labels | None = None) -> Steps:
        """Return the queries."""
        rows = all_rows(order, rows=self.rows)
        labels = np.full(self.rows, -1, dtype=np.int64)
        positives = yield from self._count_positives(rows, labels)
        gap = self._gap(positives * (self.rows - positives))
        while (unknown := rows[labels[rows] < 0]).size:
            known = rows[labels[rows] >= 0]
            asked = unknown[: _length(self.rows, len(known), gap)]
            scores = _arrange(self.rows, asked, known, gap)
            answer = yield ScoreQuery(scores, labels.copy())
            labels[asked] = _read(answer, scores, asked, labels, positives, gap)
        return labels

    def _needed(self, size: float) -> float:
        """Return how many known rows of a class determine its size: k/(2 size) must change by twice the error."""
        return 4 * size * size * self.answers.error(largest=1.0)

    def _gap(self, pairs: float) -> int:
        return RankSums.gap(pairs, self.answers.error(largest=1.0))

    def _count_positives(self, rows: Labels, labels: Labels) -> Generator[ScoreQuery, float, int]:
        """Ask for single rows, by the sign of AUC - 1/2, until the known rows of one class determine its size."""
        error = self.answers.error(largest=1.0)
        for row in rows:
            answer = yield ScoreQuery(_on_top(self.rows, np.array([row])), labels.copy())
            away = abs(answer - 0.5)
            if away <= error:
                raise InconsistentAnswer
            labels[row] = int(answer > 0.5)
            alike = np.flatnonzero(labels == labels[row])
            needed = self._needed(1 / (2 * (away - error)))
            if needed > 1 and needed <= len(alike):
                answer = yield ScoreQuery(_on_top(self.rows, alike), labels.copy())
                away = abs(answer - 0.5) / len(alike)
            if needed <= len(alike):
                size = round(1 / (2 * away))
                return size if labels[row] == 1 else self.rows - size
        return int(np.count_nonzero(labels == 1))


def _spacers(length: int, gap: int) -> int:
    return gap * (1 << length >> 2) + 1 - length if length > 1 else 0


def _length(rows: int, known: int, gap: int) -> int:
    """Return how many rows to ask for when ``known`` rows can be spacers."""
    length = 1
    while True:
        spacers = _spacers(length + 1, gap)
        tied = rows - (length + 1) - spacers
        if spacers > known or (tied + 1) / 2 < gap * 2**length:
            return length
        length += 1


def _on_top(rows: int, chosen: Labels) -> Numbers:
    scores = np.zeros(rows)
    scores[chosen] = 1.0
    return scores


def _arrange(rows: int, asked: Labels, known: Labels, gap: int) -> Numbers:
    """Return scores: the asked rows at places 1, 1 + g, 1 + 2 g, 1 + 4 g, ..., known rows between, others 0."""
    scores = np.zeros(rows)
    steps = np.array([0, *(1 << i for i in range(len(asked) - 1))])
    places = 1 + gap * steps
    scores[asked] = places
    between = np.setdiff1d(np.arange(1, places[-1]), places)
    scores[known[: len(between)]] = between
    return scores


def _read(answer: float, scores: Numbers, asked: Labels, labels: Labels, positives: int, gap: int) -> Labels:
    rows, known = len(scores), labels == 1
    tied = int(np.count_nonzero(scores == 0))
    base = (tied + 1) / 2
    ranks = np.where(scores == 0, base, tied + scores)
    total = answer * positives * (rows - positives) + positives * (positives + 1) / 2
    # What the asked positives have above the rank of the tie.
    above = total - ranks[known].sum() - base * (positives - np.count_nonzero(known))
    count = math.floor((above + gap / 2) / base)
    which = round((above - count * base) / gap)
    if not 0 <= which < 1 << (len(asked) - 1):
        raise InconsistentAnswer
    others = digits_of([which], count=len(asked) - 1)[0]
    first = count - int(others.sum())
    if first not in (0, 1):
        raise InconsistentAnswer
    return np.array([first, *others])
