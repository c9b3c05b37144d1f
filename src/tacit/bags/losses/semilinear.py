"""What makes a loss semilinear: it meets the label through T(y)'f alone."""

from __future__ import annotations

from typing import Any, Protocol

from ibis.expr.types import BooleanValue, NumericValue, Value
from numpy.typing import ArrayLike

from tacit.bags.losses.checks import Floats

__all__ = ["SemilinearLoss"]


class SemilinearLoss(Protocol):
    """What a loss must say so that totals of T(y) can be released and learned from."""

    @property
    def targets(self) -> int:
        """The dimension of T(y) and of the prediction f."""
        ...

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """The least and the greatest value of each entry of T(y), or -inf and inf where nothing bounds it."""
        ...

    @property
    def l1(self) -> float:
        """How far one label can move T(y), in the sum of absolute differences."""
        ...

    @property
    def l2(self) -> float:
        """How far one label can move T(y), in Euclidean length."""
        ...

    def statistic(self, labels: ArrayLike, /) -> Floats:
        """T(y), one row a label; labels that the loss does not know are refused."""
        ...

    def statistic_expressions(self, column: Value, /) -> list[NumericValue]:
        """T(y) as expressions over a column of a table, so that its sums are made in the engine."""
        ...

    def violation(self, column: Value, /) -> BooleanValue:
        """An expression that is true where a label is missing or out of range."""
        ...

    def potential(self, f: ArrayLike, /) -> Floats:
        """b(f), one number a row."""
        ...

    def mean(self, f: ArrayLike, /) -> Floats:
        """The gradient of b at f: the mean of T(y) that f predicts."""
        ...

    def curvature(self, f: ArrayLike, /) -> Floats:
        """The diagonal of the Hessian of b at f."""
        ...

    def link(self, mean: ArrayLike, /) -> Floats:
        """The f whose mean is the given one, with the mean kept inside the loss's range."""
        ...

    def value(self, f: ArrayLike, labels: ArrayLike, /) -> Floats:
        """The loss of each row, c(y) included."""
        ...

    def describe(self) -> dict[str, Any]:
        """The loss as plain data; :func:`loss_of` reads it back."""
        ...
