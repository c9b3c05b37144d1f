"""The Poisson loss of a count."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from ibis.expr.types import BooleanValue, NumericValue, Value
from numpy.typing import ArrayLike

from tacit.bags.losses.checks import LEAST, Floats, as_labels, as_predictions, clip, missing, number_of, refuse
from tacit.bags.losses.semilinear import SemilinearLoss
from tacit.privacy.errors import InvalidInput

__all__ = ["PoissonLoss"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoissonLoss(SemilinearLoss):
    """The Poisson loss of a count: b(f) = e^f, T(y) = y, c(y) = 0.

    Counts above `most` are clipped to it where it is declared; a private release needs it.

    Parameters
    ----------
    most
        The largest count that counts, chosen without looking at the labels; None for no bound.

    References
    ----------
    Chen et al. (2023), Section 3.2, Poisson loss.

    Examples
    --------
    >>> loss = PoissonLoss(most=5)
    >>> loss.statistic([2, 9]).ravel(), loss.l1
    (array([2., 5.]), 5.0)
    >>> loss.value([[0.0]], [2])
    array([1.])
    """

    most: float | None = None
    name: ClassVar[str] = "poisson"
    targets: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if self.most is not None and not (math.isfinite(self.most) and self.most > 0):
            raise InvalidInput(f"must be a finite number > 0 or None, got {self.most!r}", field="most")

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        return np.zeros(1), np.array([math.inf if self.most is None else float(self.most)])

    @property
    def l1(self) -> float:
        if self.most is None:
            raise InvalidInput(
                "a private total of the Poisson loss needs most, got None: pass the largest count that counts, "
                "chosen without looking at the labels"
            )
        return float(self.most)

    def statistic(self, labels: ArrayLike, /) -> Floats:
        y = as_labels(labels)
        refuse(y < 0, y, "a label of the Poisson loss must be >= 0", "remove or recode the row")
        return np.minimum(y, self.bounds[1])[:, None]

    def statistic_expressions(self, column: Value, /) -> list[NumericValue]:
        return [clip(number_of(column), None, self.most)]

    def violation(self, column: Value, /) -> BooleanValue:
        return missing(column) | (number_of(column) < 0)

    def potential(self, f: ArrayLike, /) -> Floats:
        return np.asarray(np.exp(as_predictions(f, 1))[:, 0])

    def mean(self, f: ArrayLike, /) -> Floats:
        return np.asarray(np.exp(as_predictions(f, 1)))

    def curvature(self, f: ArrayLike, /) -> Floats:
        return self.mean(f)

    def link(self, mean: ArrayLike, /) -> Floats:
        return np.log(np.clip(as_predictions(mean, 1), LEAST, self.bounds[1]))
