"""Random noise: the same queries again and their mean, or every row in every query and a Hadamard transform."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from papers.score_attacks.attacks.noise import AnswerNoise
from tacit.privacy.errors import InvalidInput
from tacit.scores.attacks import AttackPlan, DigitDesign, JointDesign, LossChannel, QueryDesign, plan_attack
from tacit.scores.attacks.channel import largest_step, revealed_by
from tacit.scores.attacks.design import Labels, ScoreQuery, Steps, all_rows
from tacit.scores.attacks.errors import InconsistentAnswer
from tacit.scores.attacks.planning import LabelsPerQueryBounds
from tacit.scores.attacks.scale import WeighingScale
from tacit.scores.losses import LossReduction
from tacit.scores.metrics import Metric
from tacit.scores.policies import Bounded

__all__ = ["HadamardDesign", "RepeatedDesign", "plan_against_noise"]

_NEAR = 1e-9  # answers this near show how much one label moves a score
_FORMULAS = {
    "counting": "infinite",
    "entropy": "((1/2) log2(2 pi e (N (R/(2 N))^2 + variance of the noise)) - entropy of the noise) / log2 K",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedDesign(QueryDesign):
    """Ask every query of a design several times and go on with the mean.

    Parameters
    ----------
    failure
        Probability that any mean is off by more.
    """

    inner: QueryDesign
    repeats: int
    failure: float = 0.0

    @property
    def queries(self) -> int:
        """Queries to every label."""
        return self.inner.queries * self.repeats

    @property
    def expected(self) -> bool:
        """As the inner design."""
        return self.inner.expected

    @property
    def identity(self) -> str:
        """The inner design's, and the repeats."""
        return f"{self.repeats} times {self.inner.identity}"

    def steps(self, *, order: Labels | None = None) -> Steps:
        """Return the queries, each as often as it is repeated."""
        inner = self.inner.steps(order=order)
        query = next(inner)
        while True:
            total = Fraction(0)
            for _ in range(self.repeats):
                total += Fraction((yield query))
            try:
                query = inner.send(float(total / self.repeats))
            except StopIteration as end:
                labels: Labels = end.value
                return labels


@dataclass(frozen=True, slots=True, kw_only=True)
class HadamardDesign(QueryDesign):
    """Weigh every row with its largest difference in every query, signs by a Hadamard matrix.

    Each label is then read from all answers together: with Q answers of noise sigma its error is
    sigma N / (R sqrt(Q)), as if the row had been asked Q times alone.
    """

    channel: LossChannel
    noise: AnswerNoise

    @property
    def queries(self) -> int:
        """Sweeps times the order of the matrix, for each binary digit of the labels."""
        return self._order * sum(self._sweeps(scale) for scale in self._scales())

    @property
    def failure(self) -> float:
        """Probability that any label comes out wrong."""
        return self.noise.failure

    def steps(self, *, order: Labels | None = None) -> Steps:
        """Return the queries; labels are known at the end."""
        rows = all_rows(order, rows=self.channel.rows)
        found = np.zeros(self.channel.rows, dtype=np.int64)
        unknown = np.full(self.channel.rows, -1, dtype=np.int64)
        for position, scale in enumerate(self._scales()):
            bits = yield from self._digit(scale, unknown, rows)
            found += bits << position
        if found.max() >= self.channel.loss.classes:
            raise InconsistentAnswer
        return found

    @property
    def _order(self) -> int:
        return 1 << self.channel.rows.bit_length()  # column 0 of the matrix has no signs: one more than rows

    def _scales(self) -> Iterator[WeighingScale]:
        for position in range((self.channel.loss.classes - 1).bit_length()):
            digits = tuple(label >> position & 1 for label in range(self.channel.loss.classes))
            yield _full_scale(self.channel, digits=digits)

    def _sweeps(self, scale: WeighingScale) -> int:
        terms = self.channel.rows if self.channel.loss.reduction is LossReduction.MEAN else 1
        decisions = self.channel.rows * (self.channel.loss.classes - 1).bit_length()
        bound = scale.unit / (2 * terms)
        return -(-self.noise.repeats(bound, failure=self.noise.failure / decisions) // self._order)

    def _digit(self, scale: WeighingScale, unknown: Labels, rows: Labels) -> Steps:
        columns = np.arange(1, len(rows) + 1)
        sums = np.zeros(self._order)
        sweeps = self._sweeps(scale)
        for _ in range(sweeps):
            for x in range(self._order):
                signs = 1 - 2 * (np.bitwise_count(columns & x).astype(np.int64) & 1)
                predictions = scale.predictions(rows, signs)
                answer = yield ScoreQuery(predictions, unknown.copy())
                sums[x] += scale.excess(answer, predictions)
        spectrum = _walsh(sums)[columns] / (self._order * sweeps * _realized(scale))
        bits = np.zeros(len(rows), dtype=np.int64)
        bits[rows] = spectrum > 0.5
        return bits


def plan_against_noise(metric: Metric, *, rows: int, noise: AnswerNoise) -> AttackPlan:
    """Return how to get all labels through random noise in the fewest queries.

    For bounds on the mean's noise from small to large, the designs of :func:`tacit.scores.attacks.plan_attack` with the
    repeats that they need: a smaller bound reveals more labels per query and needs more repeats of it. For a mean of
    row losses the Hadamard design too.
    """
    inside = plan_attack(metric, rows=rows, policy=Bounded(tau=_NEAR))
    design = min(_designs(metric, rows, noise), key=lambda design: design.queries)
    return replace(inside, design=design, bounds=_bounds(inside, noise))


def _designs(metric: Metric, rows: int, noise: AnswerNoise) -> Iterator[QueryDesign]:
    revealed = revealed_by(metric)
    kinds: list[Callable[..., QueryDesign] | None] = [None]
    if revealed.row_losses is not None:
        kinds = [partial(DigitDesign, settle=False), JointDesign]  # a wrong label must not spoil what follows
    for exponent, kind in product(range(-4, 14), kinds):
        tau = noise.scale * 2.0 ** (exponent / 2)
        with suppress(InvalidInput):  # a bound that hides single labels; a smaller one may do
            design = plan_attack(metric, rows=rows, policy=Bounded(tau=tau), design=kind).design
            repeats = noise.repeats(tau, failure=noise.failure / design.queries)
            yield RepeatedDesign(inner=design, repeats=repeats, failure=noise.failure)
    if revealed.plain_loss is not None:
        yield HadamardDesign(channel=LossChannel.of(metric, rows=rows), noise=noise)


def _bounds(inside: AttackPlan, noise: AnswerNoise) -> LabelsPerQueryBounds:
    """The bounds under noise, from how much one label moves the score: 2 tau times its weight within tau."""
    weight = math.expm1(inside.bounds.counting * math.log(inside.classes)) / inside.rows
    bits = noise.capacity(inside.rows * (_NEAR * weight) ** 2)
    return LabelsPerQueryBounds(counting=math.inf, entropy=bits / math.log2(inside.classes), formulas=_FORMULAS)


def _full_scale(channel: LossChannel, *, digits: tuple[int, ...]) -> WeighingScale:
    """Return the scale whose unit is the largest difference that a row can have in either direction."""
    top = max(digits)
    reach = channel.reach(unknown=channel.rows)
    both = (digits, tuple(top - digit for digit in digits))
    unit = min(largest_step(channel.loss, way, reach=reach, precision=channel.precision) for way in both)
    return WeighingScale(channel=channel, digits=digits, unit=unit * (1 - 1e-12), low=1, high=1)


def _realized(scale: WeighingScale) -> float:
    """Return the mean difference that the two signs make: a probability next to 1 is stored coarsely."""
    rows = np.arange(1)
    one = replace(scale, channel=replace(scale.channel, rows=1))
    low, high = scale.digits.index(0), scale.digits.index(1)
    tables = (
        scale.channel.loss.row_losses(one.predictions(rows, np.array([sign])), precision=scale.channel.precision)[0]
        for sign in (1, -1)
    )
    up, down = (float(table[high] - table[low]) for table in tables)
    return (up - down) / 2


def _walsh(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return sum over x of values[x] (-1)^|x & i| for every i."""
    result = values.copy()
    half = 1
    while half < len(result):
        pairs = result.reshape(-1, 2, half)
        result = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    return result
