"""Table 1 of the paper, computed: for each loss, the noise under which one score tells all labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from papers.score_attacks.bounds import unit_of
from papers.score_attacks.losses import ArbitraryPrecision, ItakuraSaito, Mahalanobis, NormLike
from papers.score_attacks.separation.choose import separate
from papers.score_attacks.separation.construct import PrimeLogs
from tacit.privacy.rounding import check_count
from tacit.scores.losses import (
    ClippedCrossEntropy,
    InvertibleLoss,
    NumberSystem,
    SigmoidCrossEntropy,
    SoftmaxCrossEntropy,
    SquaredError,
)

__all__ = ["TableRow", "largest_noise", "table_1"]

_EXACT = ArbitraryPrecision(bits=400)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """One loss of Table 1 with N rows.

    Parameters
    ----------
    name
        The loss, as the paper calls it.
    classes
        K.
    published
        What the paper claims for it.
    largest_noise
        The tau below which digits tell all N labels from one score; infinite if the loss is not bounded.
    gap
        The codomain gap that digits have at ``tau``, worked out exactly.
    tau
        Where the gap was worked out.
    unnoised_gap
        The codomain gap of the prime construction.

    Examples
    --------
    >>> [row.largest_noise for row in table_1(3) if row.name == "Squared Euclidean"]
    [0.041666666666666664]
    """

    name: str
    classes: int
    published: str
    largest_noise: float
    gap: Fraction
    tau: float
    unnoised_gap: Fraction


def table_1(rows: int, *, classes: int = 3) -> list[TableRow]:
    """Compute Table 1 for N rows: "unnoised" is never the whole truth, a bounded loss only bounds the noise.

    Parameters
    ----------
    rows
        N, at most 9 with three labels, so that the gaps can be worked out exactly.
    classes
        K of the losses that allow more than two.

    References
    ----------
    Aggarwal et al. (2021), Table 1. Local computation is O(N) for every row: digits are read off.

    Examples
    --------
    >>> for row in table_1(2):
    ...     print(f"{row.name}: {row.published}; tau up to {row.largest_noise:.4g}")
    Binary Cross Entropy: noised; tau up to inf
    K-ary Cross Entropy: noised; tau up to inf
    Softmax Cross Entropy: noised; tau up to inf
    Sigmoid Cross Entropy: noised; tau up to inf
    Itakura-Saito Divergence: noised; tau up to inf
    Squared Euclidean: unnoised; tau up to 0.125
    Norm-like Divergence: unnoised; tau up to 0.375
    Mahalanobis Divergence: noised; tau up to 0.25
    """
    n = check_count(rows, name="rows")
    return [_row(name, loss, published, n) for name, loss, published in _losses(classes)]


def largest_noise(loss: InvertibleLoss, rows: int, *, precision: NumberSystem = _EXACT) -> float:
    """Return the largest tau at which digits tell all labels of ``rows`` rows: s/(2 N K^(N-1)), s the largest step.

    For two labels it is R/(N 2^N); for the Mahalanobis loss, alpha/(N 2^N): Theorem 8 as it should be.

    Examples
    --------
    >>> largest_noise(Mahalanobis(matrix=((1.0, 0.0), (0.0, 1.0))), 2)
    0.25
    """
    step = loss.step_range(precision=precision)
    return step if math.isinf(step) else step / (unit_of(loss, rows, tau=1.0) * loss.classes ** (rows - 1))


def _losses(classes: int) -> list[tuple[str, InvertibleLoss, str]]:
    return [
        ("Binary Cross Entropy", ClippedCrossEntropy(), "noised"),
        ("K-ary Cross Entropy", ClippedCrossEntropy(classes=classes), "noised"),
        ("Softmax Cross Entropy", SoftmaxCrossEntropy(classes=classes), "noised"),
        ("Sigmoid Cross Entropy", SigmoidCrossEntropy(), "noised"),
        ("Itakura-Saito Divergence", ItakuraSaito(), "noised"),
        ("Squared Euclidean", SquaredError(), "unnoised"),
        ("Norm-like Divergence", NormLike(alpha=3.0), "unnoised"),
        ("Mahalanobis Divergence", Mahalanobis(matrix=((1.0, 0.0), (0.0, 1.0))), "noised"),
    ]


def _row(name: str, loss: InvertibleLoss, published: str, rows: int) -> TableRow:
    largest = largest_noise(loss, rows)
    tau = min(largest * (1 - 1e-6), 1.0)
    unnoised = separate(loss, rows, 0.0, construction=PrimeLogs(), precision=_EXACT)
    return TableRow(
        name=name,
        classes=loss.classes,
        published=published,
        largest_noise=largest,
        gap=separate(loss, rows, tau, precision=_EXACT).gap or Fraction(0),
        tau=tau,
        unnoised_gap=unnoised.gap or Fraction(0),
    )
