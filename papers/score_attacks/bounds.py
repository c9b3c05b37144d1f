"""How many labels one score can hold, and how many scores all labels need: constructions and upper bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count
from tacit.scores.losses import FLOAT64, InvertibleLoss, LossReduction, NumberSystem

__all__ = [
    "LabelsPerQuery",
    "QueryBounds",
    "labels_per_query",
    "queries_for",
    "unit_of",
]


def unit_of(loss: InvertibleLoss, rows: int, *, tau: float) -> float:
    """Return u, the gap that row-loss sums need: 2 N tau under a mean, 2 tau under a sum."""
    if not (0 < tau < math.inf):
        raise InvalidInput(f"must be a finite number > 0, got {tau!r}", field="tau")
    scale = check_count(rows, name="rows") if loss.reduction is LossReduction.MEAN else 1
    return 2 * scale * tau


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsPerQuery:
    """The labels m that one score with noise below tau can hold: one construction and three upper bounds.

    R is the largest loss difference of one row after clipping, u = 2 N tau (2 tau under a sum), K the number of
    labels. An infinite R gives infinite counts.

    Parameters
    ----------
    digits
        Reached: rows weigh u K^i, and u K^(m-1) is the largest step; for two labels
        m = 1 + floor(log2(R/u)).
    counting
        No design beats K^m - 1 <= m R/u: K^m sums u apart in an interval of m R.
    variance
        No design beats K^(2m) - 1 <= 3 m (R/u)^2: points u apart have a variance.
    isoperimetric
        No design for two labels beats C(m, floor(m/2)) < R/u + 1/2; None for more labels.

    References
    ----------
    Aggarwal et al. (2021), Theorem 13, which these improve; Erdos and Moser (1956); Dubroff, Fox and Xu (2021).

    Examples
    --------
    >>> from tacit.scores.losses import ClippedCrossEntropy, ProbabilityFloor
    >>> labels_per_query(ClippedCrossEntropy(clip=ProbabilityFloor(1e-6)), 100, tau=1e-4)
    LabelsPerQuery(digits=10, counting=13, variance=12, isoperimetric=11)
    """

    formulas: ClassVar[dict[str, str]] = {
        "digits": "u K^(m-1) <= largest step",
        "isoperimetric": "C(m, floor(m/2)) < R/u + 1/2",
        "variance": "K^(2m) - 1 <= 3 m (R/u)^2",
        "counting": "K^m - 1 <= m R/u",
    }
    """The inequality behind each number, to print beside it."""

    digits: float
    counting: float
    variance: float
    isoperimetric: float | None

    @property
    def upper_bound(self) -> float:
        """The least of the upper bounds."""
        known = (self.counting, self.variance, self.isoperimetric)
        return min(bound for bound in known if bound is not None)

    @property
    def binding(self) -> str:
        """The name of the least upper bound, a key of ``formulas``."""
        return next(name for name in self.formulas if name != "digits" and getattr(self, name) == self.upper_bound)


def labels_per_query(
    loss: InvertibleLoss, rows: int, *, tau: float, precision: NumberSystem = FLOAT64
) -> LabelsPerQuery:
    """Return how many labels one score of ``rows`` rows can hold when its noise is below ``tau``.

    Counts are not capped at ``rows``.
    """
    unit, k = unit_of(loss, rows, tau=tau), loss.classes
    widest = loss.difference_range(precision=precision)
    if math.isinf(widest):
        return LabelsPerQuery(
            digits=math.inf, counting=math.inf, variance=math.inf, isoperimetric=math.inf if k == 2 else None
        )
    # Rationals: the ratio's square may leave binary64.
    ratio = Fraction(widest) / Fraction(unit)
    steps = Fraction(loss.step_range(precision=precision)) / Fraction(unit)
    return LabelsPerQuery(
        digits=_largest(lambda m: k ** (m - 1) <= steps),
        counting=_largest(lambda m: k**m - 1 <= m * ratio),
        variance=_largest(lambda m: k ** (2 * m) - 1 <= 3 * m * ratio**2),
        isoperimetric=_largest(lambda m: math.comb(m, m // 2) < ratio + Fraction(1, 2)) if k == 2 else None,
    )


def _largest(fits: Callable[[int], bool]) -> int:
    labels = 0
    while fits(labels + 1):
        labels += 1
    return labels


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryBounds:
    """The fewest scores that can reveal all N labels, if a score reveals integer sums of weights up to L.

    Parameters
    ----------
    counting
        N log2 K / log2(1 + N L): a score takes at most 1 + N L values. Holds for every strategy.
    entropy
        N log2 K / ((1/2) log2(2 pi e (V + 1/12))), V = (sqrt(N) L/2 + 1/2)^2: no integer of variance V has more
        entropy. Holds for questions fixed in advance and labels all equally likely.
    detecting
        2 N / log2 N: what detecting matrices reach for L = 1 and two labels, as N grows; None elsewhere.

    References
    ----------
    Lindstrom (1965); Cantor and Mills (1966); Erdos and Renyi (1963); Massey (1988) for the entropy.
    """

    formulas: ClassVar[dict[str, str]] = {
        "counting": "N log2 K / log2(1 + N L)",
        "entropy": "N log2 K / ((1/2) log2(2 pi e ((sqrt(N) L/2 + 1/2)^2 + 1/12)))",
        "detecting": "2 N / log2 N",
    }
    """The formula of each number, to print beside it."""

    counting: float
    entropy: float
    detecting: float | None


def queries_for(rows: int, *, largest_weight: float, classes: int = 2) -> QueryBounds:
    """Return lower bounds on the number of scores that reveal the labels of ``rows`` rows.

    Parameters
    ----------
    rows
        N.
    largest_weight
        L, the largest loss difference of one row in units of what a score resolves: R/u.
    classes
        K.
    """
    n = check_count(rows, name="rows")
    if not largest_weight > 0:
        raise InvalidInput(f"must be > 0, got {largest_weight!r}", field="largest_weight")
    bits = n * math.log2(check_count(classes, name="classes", least=2))
    if math.isinf(largest_weight):
        return QueryBounds(counting=0.0, entropy=0.0, detecting=None)
    variance = (math.sqrt(n) * largest_weight / 2 + 0.5) ** 2
    detecting = 2 * n / math.log2(n) if largest_weight == 1 and classes == 2 and n > 1 else None
    return QueryBounds(
        counting=bits / math.log2(1 + n * largest_weight),
        entropy=bits / (0.5 * math.log2(2 * math.pi * math.e * (variance + 1 / 12))),
        detecting=detecting,
    )
