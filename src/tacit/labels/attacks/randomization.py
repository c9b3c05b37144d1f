"""Whether one label column can be a randomized response of another at the claimed epsilon."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from tacit.data.classes import MISSING, Classes, as_column
from tacit.labels.attacks.independence import p_repeated, p_shared
from tacit.labels.mechanisms import RandomizedResponse
from tacit.leak import Interval, clopper_pearson
from tacit.privacy.errors import InvalidInput

__all__ = ["ResponseTest", "test_independence", "test_randomization"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseTest:
    """Exact p-values of "each label was kept with the claimed probability, else replaced uniformly".

    Parameters
    ----------
    rows, kept
        Labels in both columns, and how many are equal.
    expected
        The share that randomized response at the claimed epsilon keeps.
    claimed
        That epsilon.
    p_too_little_noise
        Probability of that many kept labels or more: small where labels are protected less than claimed.
    p_too_much_noise
        Probability of that few or fewer.
    p_switches
        Smallest p-value of any cell (label before, label after), times the number of cells: small where labels go to
        the wrong classes, or some classes are kept more than others.
    p_repeated_draws
        Probability that switches come in so many pairs at some distance: small where draws are used again.
    epsilon
        The epsilons that the kept share allows, at 95%.
    """

    rows: int
    kept: int
    expected: float
    claimed: float
    p_too_little_noise: float
    p_too_much_noise: float
    p_switches: float
    p_repeated_draws: float
    epsilon: Interval

    @property
    def p_value(self) -> float:
        """Of all together: the smallest times their number, at most 1."""
        return min(1.0, len(self._reasons) * min(self._reasons.values()))

    @property
    def _reasons(self) -> dict[str, float]:
        return {
            "too little noise": self.p_too_little_noise,
            "too much noise": self.p_too_much_noise,
            "labels switched in another pattern": self.p_switches,
            "the same draws used for several rows": self.p_repeated_draws,
        }

    def acted(self, *, significance: float = 0.001) -> bool:
        """Return whether the columns are consistent with the claim; wrongly "no" with at most this probability."""
        if not 0 < significance < 1:
            raise InvalidInput(f"must be in (0, 1), such as 0.001, got {significance!r}", field="significance")
        return self.p_value >= significance

    def __str__(self) -> str:
        share = f"{self.kept / self.rows:.1%} of {self.rows} labels are kept"
        head = f"{share}, where epsilon {self.claimed:g} keeps {self.expected:.1%}"
        if self.acted():
            return f"{head}: consistent with randomized response (p = {self.p_value:.1g})"
        reason = min(self._reasons, key=lambda name: self._reasons[name])
        return f"{head}: not a randomized response at that epsilon, {reason} (p = {self.p_value:.1g})"


def test_randomization(
    before: object,
    after: object,
    *,
    epsilon: float,
    classes: Sequence[Any] | None = None,  # noqa: PT028  # not a test of pytest's
) -> ResponseTest:
    """Test whether ``after`` is a randomized response of ``before`` at ``epsilon``.

    Given the labels before, the cells (before, after) have binomial counts with known rates, and so have the pairs of
    switched labels at any distance if rows are randomized independently.

    It reads the private column, so its result is for the owner, outside any guarantee.

    Parameters
    ----------
    before, after
        Two label columns of the same rows. Rows without a label in both are left out.
    epsilon
        The claim.
    classes
        The class list; None: the classes that occur in either column.
    """
    coding = _coding([before, after], classes)
    first, second = _both(coding.encode(before), coding.encode(after))
    K, n = len(coding), len(first)
    mechanism = RandomizedResponse(epsilon=epsilon, classes=K)
    rate, kept = float(mechanism.transition()[0, 0]), int((first == second).sum())
    return ResponseTest(
        rows=n,
        kept=kept,
        expected=rate,
        claimed=float(epsilon),
        p_too_little_noise=float(binom.sf(kept - 1, n, rate)),
        p_too_much_noise=float(binom.cdf(kept, n, rate)),
        p_switches=_p_switches(first, second, mechanism.transition()),
        p_repeated_draws=p_repeated(first != second, rate=1 - rate),
        epsilon=_epsilons(kept, n, K),
    )


def test_independence(
    before: object,
    first: object,
    second: object,
    *,
    epsilon: float,
    classes: Sequence[Any] | None = None,  # noqa: PT028  # not a test of pytest's
) -> float:
    """Return the p-value of "two randomized responses of the same labels have draws of their own".

    Small where two releases share a seed: then the second costs a second epsilon and hides nothing more.
    """
    coding = _coding([before, first, second], classes)
    truth = coding.encode(before)
    (_, one), (known, other) = (_both(truth, coding.encode(labels)) for labels in (first, second))
    rate = float(RandomizedResponse(epsilon=epsilon, classes=len(coding)).transition()[0, 0])
    return p_shared(one != known, other != known, rate=1 - rate)


for _named in (test_randomization, test_independence):
    _named.__test__ = False  # type: ignore[union-attr]  # pytest collects what is called test_


def _coding(columns: Sequence[object], classes: Sequence[Any] | None) -> Classes:
    if classes is not None:
        return Classes.of(columns[0], declared=classes)
    occurring = {value for labels in columns for value in as_column(labels).drop_null().unique().to_pylist()}
    return Classes(values=tuple(sorted(occurring)), declared=False)


def _both(first: NDArray[np.int64], second: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if len(first) != len(second):
        raise InvalidInput(f"after must have one label for each of the {len(first)} before, got {len(second)}")
    absent = (first == MISSING, second == MISSING)
    if np.any(absent[0] != absent[1]):
        raise InvalidInput(
            f"after must be missing where before is, got {int((absent[0] != absent[1]).sum())} rows with only one: "
            "randomized response keeps missing labels missing"
        )
    if absent[0].all():
        raise InvalidInput("before must have at least one label, got none")
    return first[~absent[0]], second[~absent[1]]


def _p_switches(first: NDArray[np.int64], second: NDArray[np.int64], transition: NDArray[np.float64]) -> float:
    """The smallest two-sided binomial p-value of a cell, for all cells at once (Bonferroni)."""
    K = len(transition)
    cells = np.bincount(first * K + second, minlength=K * K).reshape(K, K)
    sizes = np.broadcast_to(cells.sum(axis=1)[:, None], (K, K))
    smaller = np.minimum(binom.cdf(cells, sizes, transition), binom.sf(cells - 1, sizes, transition))
    # with two classes one cell of each row determines the other
    tests = K if K == 2 else K * K
    return min(1.0, tests * 2 * float(smaller.min()))


def _epsilons(kept: int, rows: int, classes: int) -> Interval:
    """The kept share pi = E/(E + K - 1) turned round: E = (K - 1) pi/(1 - pi)."""
    rates = clopper_pearson(kept, rows)
    low, high = (_epsilon_at(rate, classes) for rate in (rates.low, rates.high))
    return Interval(low=low, high=high, level=rates.level)


def _epsilon_at(rate: float, classes: int) -> float:
    if rate == 1:
        return math.inf
    return max(0.0, math.log((classes - 1) * rate / (1 - rate))) if rate > 0 else 0.0
