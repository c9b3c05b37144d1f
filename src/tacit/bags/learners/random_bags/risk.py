"""The risk of a hypothesis from random bags, estimated without bias."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.bags.partition import RandomBags
from tacit.privacy.errors import InvalidInput

__all__ = ["BagMoments", "bag_residuals", "label_variance", "unbiased_risk"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class BagMoments:
    """How a bag's mean residual relates to rows: E|r|^2 = c |E r|^2 + risk/k for exact proportions.

    With bags of m of N rows without replacement, c = (m-1)N/(m(N-1)) and k = m(N-1)/(N-m).

    References
    ----------
    Chen et al. (2023), Lemma 1; formula sheet f4.
    """

    size: int
    rows: int

    def __post_init__(self) -> None:
        if not 1 <= self.size < self.rows:
            raise InvalidInput(
                f"bags must be smaller than the table they are drawn from, got {self.size} of {self.rows} rows: "
                "release bags of fewer rows"
            )

    @property
    def c(self) -> float:
        """The weight of the squared mean residual."""
        return (self.size - 1) * self.rows / (self.size * (self.rows - 1))

    @property
    def k(self) -> float:
        """By what a corrected bag loss is multiplied to become a risk of rows."""
        return self.size * (self.rows - 1) / (self.rows - self.size)


def bag_residuals(bags: RandomBags, outputs: Floats) -> Floats:
    """Return r_i, the mean of h over bag i less the bag's label."""
    if outputs.ndim != 2 or outputs.shape[1] != bags.targets:
        raise InvalidInput(f"must have shape (rows, {bags.targets}), got {outputs.shape}", field="outputs")
    if bags.rows.size and bags.rows.max() >= len(outputs):
        raise InvalidInput(f"must have a row for each row of the bags, got {len(outputs)} rows", field="outputs")
    return np.asarray(outputs[bags.rows].mean(axis=1) - bags.labels)


def unbiased_risk(residuals: Floats, moments: BagMoments, *, excess: float = 0.0) -> float:
    """Return an estimate of the mean of |h - y|^2 over rows whose expectation is that risk.

    k (mean|r_i|^2 - excess - c U) with the U-statistic U = (n|mean r|^2 - mean|r|^2)/(n - 1) of |E r|^2. For 0/1
    outputs the risk is the expected Hamming distance of the labels.

    Parameters
    ----------
    residuals
        (bags, targets), from independent bags.
    moments
        Bag size and table size.
    excess
        What noise adds to E|r|^2: the sum of its variances; for Bernoulli labels :func:`label_variance` and no more, as
        noise in the chance of a 0/1 draw does not change the mean of its square.

    References
    ----------
    Formula sheet f4.
    """
    n = len(residuals)
    if n < 2:
        raise InvalidInput(f"an unbiased risk needs at least 2 bags, got {n}: release more of them")
    mean = residuals.mean(axis=0)
    square = float(np.mean(np.sum(residuals**2, axis=1)))
    U = (n * float(mean @ mean) - square) / (n - 1)
    return moments.k * (square - excess - moments.c * U)


def label_variance(bags: RandomBags, moments: BagMoments) -> float:
    """Return an unbiased estimate of what Bernoulli bag labels add to E|r|^2: c times the sum of Var(y_k).

    The printed constant, (1 - 1/m) times the variance, lacks the factor N/(N-1).

    References
    ----------
    Chen et al. (2023), Lemma 2, corrected; formula sheet f4 and k.
    """
    n = len(bags)
    if n < 2:
        raise InvalidInput(f"the variance of labels needs at least 2 bags, got {n}: release more of them")
    mean = bags.labels.mean(axis=0)
    # labels are 0 or 1, so y^2 = y: the variance of rows is p - p^2, and p^2 has the U-statistic of the labels
    square = (n * mean**2 - np.mean(bags.labels**2, axis=0)) / (n - 1)
    return float(moments.c * np.sum(mean - square))
