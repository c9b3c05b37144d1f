"""Which quarter of the labels a number lies in, from scores that are mean errors: one row per submission."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacit.scores.attacks.competition import AttackResult, Submit
from tacit.scores.attacks.errors import OracleError
from tacit.scores.metrics import Metric

__all__ = ["Quartiles", "read_quartiles"]

Floats = NDArray[np.float64]

_VALUES = 9  # of the numbers in a quarter, to average over
_FINEST = 1e-3  # of a term's range: labels of a quarter differ by as much


@dataclass(frozen=True, slots=False, kw_only=True, eq=False)
class Quartiles:
    """Numbers as the quarters of their own distribution, which the attacker knows; equal quarters are one."""

    labels: Floats

    @cached_property
    def cuts(self) -> Floats:
        """Where one quarter ends and the next begins."""
        least = self.labels.min()
        above = np.min(self.labels, where=self.labels > least, initial=np.inf)  # most rows may have the least value: 0
        quantiles = np.quantile(self.labels, (0.25, 0.5, 0.75))
        return np.unique(np.where(quantiles > least, quantiles, above))

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """The quarter of each label."""
        return np.unique(np.searchsorted(self.cuts, self.labels, side="right"), return_inverse=True)[1]

    @cached_property
    def values(self) -> Floats:
        """(quarters, values): numbers that occur in each quarter."""
        shares = (np.arange(_VALUES) + 0.5) / _VALUES
        return np.array([np.quantile(self.labels[self.codes == k], shares) for k in range(self.codes.max() + 1)])


def read_quartiles(
    submit: Submit,
    metric: Metric,
    quartiles: Quartiles,
    *,
    ends: tuple[float, float],
    noise: float,
    prior: Floats,
    scored: int,
    submissions: int,
    progress: Callable[[int, int], None],
) -> AttackResult:
    """Predict the lower end for all rows, then the upper end for one row at a time, and weigh what that changes.

    Moving one prediction changes the mean of ``scored`` terms by a number that only that row's label decides. The two
    scores have Laplace noise of the scale ``noise`` each; their difference x has the density (1 + |x|/b) exp(-|x|/b)
    up to a factor. Bayes' rule weighs the quarters by it.
    """
    low, high = ends
    base, after = np.full(len(prior), low), prior.copy()
    expected = np.vectorize(lambda value: _term(metric, value, high) - _term(metric, value, low))(quartiles.values)
    scale = max(noise * scored, _FINEST * float(np.ptp(expected)))
    planned = min(submissions, len(prior) + 1)
    start, made = metric.mean_of(float(submit(base))), 1
    for row in range(planned - 1):
        asked = base.copy()
        asked[row] = high
        try:
            moved = scored * (metric.mean_of(float(submit(asked))) - start)
        except OracleError:
            break
        made += 1
        progress(made, planned)
        distance = np.abs(moved - expected) / scale
        likelihood = ((1 + distance) * np.exp(distance.min() - distance)).mean(axis=1)
        after[row] = prior[row] * likelihood / (prior[row] @ likelihood)
    return AttackResult(labels=after.argmax(axis=1), submissions=made, attack="one row per submission", after=after)


def _term(metric: Metric, label: float, prediction: float) -> float:
    return metric.mean_of(metric.score(np.array([label]), np.array([prediction])))
