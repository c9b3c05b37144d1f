"""The excess risk of learning from random bags, bounded: corrected, for thresholded linear functions, and honest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from papers.label_bags.theory.deviations import bag_risk_deviation, mean_residual_deviation, row_risk_deviation
from papers.label_bags.theory.rademacher import linear_rademacher
from tacit.privacy.errors import InvalidInput

__all__ = ["RiskBound", "linear_risk_bound", "risk_bound", "size_trade_off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskBound:
    """A bound of R(h^) - inf R, its three terms, and what they are for.

    Parameters
    ----------
    mean_residual, table, bags
        The terms of the squared mean residual, of the table as a sample of the population, and of the bags.
    confidence
        With which probability the bound holds.
    size, rows, drawn, targets
        m, N, n and K.

    Examples
    --------
    >>> print(linear_risk_bound(dimension=5, size=2, rows=100_000, bags=100_000))
    excess Hamming risk at most 0.6166 with probability 0.95
    >>> print(linear_risk_bound(dimension=5, size=8, rows=100_000, bags=12_500))
    excess Hamming risk at most 6.697 with probability 0.95: vacuous, since it is never above 1
    """

    mean_residual: float
    table: float
    bags: float
    confidence: float
    size: int
    rows: int
    drawn: int
    targets: int

    @property
    def total(self) -> float:
        """The bound."""
        return self.mean_residual + self.table + self.bags

    @property
    def vacuous(self) -> bool:
        """Whether it says nothing: a Hamming distance of K labels is at most K."""
        return self.total >= self.targets

    def __str__(self) -> str:
        note = f": vacuous, since it is never above {self.targets}" if self.vacuous else ""
        return f"excess Hamming risk at most {self.total:.4g} with probability {self.confidence:g}{note}"


def risk_bound(
    *,
    size: int,
    rows: int,
    bags: int,
    delta: float,
    targets: int = 1,
    complexity: float,
    flattened: float,
    table: float,
    bernoulli: bool = True,
    printed: bool = False,
) -> RiskBound:
    """Return the bound (6) of Theorem 2, corrected, with probability 1 - 4 delta (1 - 3 delta without Bernoulli draws).

    For classes of functions into {0, 1}^K. Against the printed bound: deviations of losses in [0, K] carry K,
    residuals in [-1, 1] carry 2, and the third term has the flattened complexity. The estimator is the one as
    printed (:func:`papers.label_bags.theory.printed_objective`).

    Parameters
    ----------
    size, rows, bags
        m, N and n.
    delta
        Probability of failure of each event.
    targets
        K.
    complexity
        The sum over targets of the Rademacher complexities of H_k, at n samples of the table.
    flattened, table
        The flattened complexity of H at n samples of the table, and at N samples of the population.
    bernoulli
        Whether bag labels are Bernoulli draws.
    printed
        The bound as printed, for comparison.

    References
    ----------
    Chen et al. (2023), Theorem 2, Lemmas 3 and 5 to 7; formula sheet k.

    Examples
    --------
    >>> one = {"complexity": 0.0, "flattened": 0.0, "table": 0.0}
    >>> risk_bound(size=10, rows=100_000, bags=10_000, delta=0.0125, printed=True, **one).total.__round__(4)
    1.7117
    """
    if not 1 <= size < rows:
        raise InvalidInput(f"size must be in 1..rows - 1, got {size!r} of {rows!r}")
    residual = mean_residual_deviation(
        complexity, bags=bags, size=size, delta=delta, targets=targets, bernoulli=bernoulli, printed=printed
    )
    return RiskBound(
        mean_residual=2 * (size - 1) * rows / (rows - size) * residual,
        table=2 * row_risk_deviation(table, rows=rows, delta=delta, targets=targets, printed=printed),
        bags=2
        * size
        * (rows - 1)
        / (rows - size)
        * bag_risk_deviation(flattened, bags=bags, delta=delta, targets=targets, printed=printed),
        confidence=1 - (4 if bernoulli else 3) * delta,
        size=size,
        rows=rows,
        drawn=bags,
        targets=targets,
    )


def linear_risk_bound(
    *,
    dimension: int,
    size: int,
    rows: int,
    bags: int,
    confidence: float = 0.95,
    targets: int = 1,
    bernoulli: bool = True,
) -> RiskBound:
    """Return the corrected bound for K thresholded linear functions 1[w_k'x + b_k > 0], whatever the data.

    Parameters
    ----------
    dimension
        The number of features.
    size, rows, bags
        m, N and n.
    confidence
        With which probability the bound is to hold.
    targets
        K.
    bernoulli
        Whether bag labels are Bernoulli draws.

    Examples
    --------
    >>> linear_risk_bound(dimension=2, size=1, rows=10**7, bags=10**7).vacuous
    False
    >>> linear_risk_bound(dimension=2, size=64, rows=10**7, bags=10**5).vacuous
    True
    """
    if not 0 < confidence < 1:
        raise InvalidInput(f"confidence must be in (0, 1), got {confidence!r}")
    drawn = targets * linear_rademacher(bags, dimension=dimension, distinct=min(bags, rows))
    return risk_bound(
        size=size,
        rows=rows,
        bags=bags,
        delta=(1 - confidence) / (4 if bernoulli else 3),
        targets=targets,
        complexity=drawn,
        flattened=drawn,  # the K functions are free of each other, so flattened complexities add up too
        table=targets * linear_rademacher(rows, dimension=dimension),
        bernoulli=bernoulli,
    )


def size_trade_off(
    sizes: Iterable[int],
    *,
    dimension: int,
    rows: int,
    memberships: int,
    confidence: float = 0.95,
    targets: int = 1,
    bernoulli: bool = False,
) -> list[RiskBound]:
    """Return the bound for each bag size when n m, the number of memberships, is fixed.

    Larger bags hide more and there are fewer of them: the bound grows like m sqrt(m).

    Examples
    --------
    >>> bounds = size_trade_off([1, 4, 16], dimension=5, rows=10**6, memberships=10**6)
    >>> [round(bound.total, 2) for bound in bounds]
    [0.1, 0.76, 6.2]
    """
    return [
        linear_risk_bound(
            dimension=dimension,
            size=size,
            rows=rows,
            bags=max(1, memberships // size),
            confidence=confidence,
            targets=targets,
            bernoulli=bernoulli,
        )
        for size in sizes
    ]
