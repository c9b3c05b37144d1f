"""How far bag averages stray from their means over a whole class: the paper's lemmas, corrected, and as printed."""

from __future__ import annotations

import math

from tacit.privacy.errors import InvalidInput

__all__ = ["bag_label_excess", "bag_risk_deviation", "mean_residual_deviation", "row_risk_deviation"]


def bag_label_excess(label_variance: float, *, size: int, rows: int, printed: bool = False) -> float:
    """Return what Bernoulli bag labels add to the bag risk R_1.

    (1 - 1/m) N/(N-1) times the sum of the label variances; the printed Lemma 2 lacks the factor N/(N-1), and reads
    the variance of |y|^2 where the sum over labels is meant.

    References
    ----------
    Chen et al. (2023), Lemma 2; formula sheet k.

    Examples
    --------
    >>> round(bag_label_excess(0.24, size=2, rows=5), 6), round(bag_label_excess(0.24, size=2, rows=5, printed=True), 6)
    (0.15, 0.12)
    """
    if not 1 <= size <= rows or rows < 2:
        raise InvalidInput(f"size must be in 1..rows and rows >= 2, got {size!r} and {rows!r}")
    return (1 - 1 / size) * label_variance * (1.0 if printed else rows / (rows - 1))


def bag_risk_deviation(complexity: float, *, bags: int, delta: float, targets: int = 1, printed: bool = False) -> float:
    """Bound sup_h |R_1(h) - its average over bags| with probability 1 - delta.

    4 sqrt(2K) R+ + K sqrt(log(2/delta)/(2n)) with the flattened complexity R+: a bag's loss is in [0, K], which
    the printed Lemma 5 takes for [0, 1]. For one target the contraction needs no sqrt(2): 4 R.

    Parameters
    ----------
    complexity
        The flattened Rademacher complexity at n samples of the table.
    bags
        n.
    delta
        The probability of failure.
    targets
        K.
    printed
        As in the paper, which fails for K > 1.

    References
    ----------
    Chen et al. (2023), Lemma 5.

    Examples
    --------
    >>> round(bag_risk_deviation(0.0, bags=1000, delta=0.05, targets=4), 4)
    0.1718
    """
    _check(bags, delta, targets)
    spread = math.sqrt(math.log(2 / delta) / (2 * bags))
    if printed:
        return 4 * math.sqrt(2 * targets) * complexity + spread
    return _contraction(targets) * complexity + targets * spread


def row_risk_deviation(complexity: float, *, rows: int, delta: float, targets: int = 1, printed: bool = False) -> float:
    """Bound sup_h |the table's risk - the population's| with probability 1 - delta.

    References
    ----------
    Chen et al. (2023), Lemma 6, with the factor K of :func:`bag_risk_deviation`.

    Examples
    --------
    >>> row_risk_deviation(0.1, rows=1000, delta=0.05) == bag_risk_deviation(0.1, bags=1000, delta=0.05)
    True
    """
    return bag_risk_deviation(complexity, bags=rows, delta=delta, targets=targets, printed=printed)


def mean_residual_deviation(
    complexity: float,
    *,
    bags: int,
    size: int,
    delta: float,
    targets: int = 1,
    bernoulli: bool = True,
    printed: bool = False,
) -> float:
    """Bound sup_h ||E r|^2 - |mean r|^2| with probability 1 - delta, 1 - 2 delta for Bernoulli labels.

    4 sum_k R(H_k) + 4 K sqrt(log(2mK/delta)/(2n)), and for Bernoulli labels another 2 K sqrt(log(2K/delta)/(2n)):
    residuals are in [-1, 1], of length 2, which the printed (25) takes for 1.

    Parameters
    ----------
    complexity
        The sum over targets of their Rademacher complexities at n samples of the table.
    bags, size
        n and m.
    delta
        The probability of failure of each of the two events.
    targets
        K.
    bernoulli
        Whether bag labels are Bernoulli draws.
    printed
        As in the paper: Lemma 7.

    References
    ----------
    Chen et al. (2023), Equation (25), Lemma 7.

    Examples
    --------
    >>> round(mean_residual_deviation(0.0, bags=10_000, size=10, delta=0.0125), 4)
    0.1087
    """
    _check(bags, delta, targets)
    spread = math.sqrt(math.log(2 * size * targets / delta) / (2 * bags))
    if printed:
        return 4 * complexity + 4 * targets * spread
    drawn = math.sqrt(math.log(2 * targets / delta) / (2 * bags)) if bernoulli else 0.0
    return 4 * complexity + 4 * targets * spread + 2 * targets * drawn


def _contraction(targets: int) -> float:
    return 4.0 if targets == 1 else 4 * math.sqrt(2 * targets)


def _check(samples: int, delta: float, targets: int) -> None:
    if samples < 1 or targets < 1:
        raise InvalidInput(f"the numbers of samples and of targets must be >= 1, got {samples!r} and {targets!r}")
    if not 0 < delta < 1:
        raise InvalidInput(f"delta must be in (0, 1), got {delta!r}")
