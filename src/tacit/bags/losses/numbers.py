"""The losses of numbers: squared error, and the Poisson loss of counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tacit.bags.losses.semilinear import LEAST, Floats, SemilinearLoss, as_labels, as_predictions, refuse
from tacit.data.queries import SqlColumn, float_literal
from tacit.privacy.errors import InvalidInput

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["PoissonLoss", "SquaredLoss"]

_MOST_LABELS = 1000  # a table of rows x labels must fit


@dataclass(frozen=True, slots=True, kw_only=True)
class SquaredLoss(SemilinearLoss):
    """Half the squared error: b(f) = f^2/2, T(y) = y, c(y) = y^2/2.

    Labels are clipped to [lower, upper] where those are declared; a private release needs both, because they are
    what bounds the change that one label makes.

    Parameters
    ----------
    lower, upper
        The declared range, chosen without looking at the labels; None for no bound.

    References
    ----------
    Chen et al. (2023), Section 3.2, mean squared error.
    """

    lower: float | None = None
    upper: float | None = None
    name: ClassVar[str] = "squared"
    identity_link: ClassVar[bool] = True
    targets: ClassVar[int] = 1

    def __post_init__(self) -> None:
        for argument, bound in (("lower", self.lower), ("upper", self.upper)):
            if bound is not None and not math.isfinite(bound):
                raise InvalidInput(f"{argument} must be a finite number or None, got {bound!r}")
        if self.lower is not None and self.upper is not None and not self.lower < self.upper:
            raise InvalidInput(f"must be < upper, got lower={self.lower!r} and upper={self.upper!r}", field="lower")

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        return (
            np.array([-math.inf if self.lower is None else float(self.lower)]),
            np.array([math.inf if self.upper is None else float(self.upper)]),
        )

    @property
    def l1(self) -> float:
        if self.lower is None or self.upper is None:
            raise InvalidInput(
                f"a private total of the squared loss needs declared labels, got lower={self.lower!r} and "
                f"upper={self.upper!r}: pass both, chosen without looking at the labels"
            )
        return float(self.upper - self.lower)

    def statistic(self, labels: ArrayLike, /) -> Floats:
        return np.clip(as_labels(labels), *self._range())[:, None]

    def statistic_in_sql(self, column: SqlColumn, /) -> list[str]:
        return [_clipped(column.number, self.lower, self.upper)]

    def potential(self, f: ArrayLike, /) -> Floats:
        return np.asarray(np.square(as_predictions(f, 1))[:, 0] / 2)

    def tensor_potential(self, f: Tensor, /) -> Tensor:
        return f[:, 0] ** 2 / 2

    def score(self, f: Floats, labels: ArrayLike, /) -> float:
        from sklearn.metrics import r2_score

        return float(r2_score(np.asarray(labels, dtype=np.float64), f[:, 0]))

    def mean(self, f: ArrayLike, /) -> Floats:
        return as_predictions(f, 1).copy()

    def curvature(self, f: ArrayLike, /) -> Floats:
        return np.ones_like(as_predictions(f, 1))

    def link(self, mean: ArrayLike, /) -> Floats:
        return np.clip(as_predictions(mean, 1), *self._range())

    def value(self, f: ArrayLike, labels: ArrayLike, /) -> Floats:
        return np.asarray(np.square(as_predictions(f, 1) - self.statistic(labels))[:, 0] / 2)

    def _range(self) -> tuple[float, float]:
        lower, upper = self.bounds
        return float(lower[0]), float(upper[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class PoissonLoss(SemilinearLoss):
    """The Poisson loss of a count: b(f) = e^f, T(y) = y, c(y) = 0.

    Counts are clipped to [0, `most`] where `most` is declared; a private release needs it.

    Parameters
    ----------
    most
        The largest count that counts, chosen without looking at the labels; None for no bound.

    References
    ----------
    Chen et al. (2023), Section 3.2, Poisson loss.
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
                "a private total of the Poisson loss needs most, got None: pass the largest count, "
                "chosen without looking at the labels"
            )
        return float(self.most)

    def statistic(self, labels: ArrayLike, /) -> Floats:
        y = as_labels(labels)
        if self.most is None:
            refuse(y < 0, y, "a label of the Poisson loss must be >= 0", "remove or recode the row")
        return np.clip(y, *self.bounds)[:, None]

    def statistic_in_sql(self, column: SqlColumn, /) -> list[str]:
        return [_clipped(column.number, None if self.most is None else 0.0, self.most)]

    def violation(self, column: SqlColumn, /) -> str:
        negative = f" OR {column.number} < 0" if self.most is None else ""  # a refusal would tell of one label
        return f"({column.is_missing}{negative})"

    def potential(self, f: ArrayLike, /) -> Floats:
        return np.asarray(np.exp(as_predictions(f, 1))[:, 0])

    def tensor_potential(self, f: Tensor, /) -> Tensor:
        return f[:, 0].exp()

    def label_values(self) -> Floats:
        if self.most is None or self.most > _MOST_LABELS:
            return SemilinearLoss.label_values(self)
        return np.arange(self.most + 1)[:, None]

    def score(self, f: Floats, labels: ArrayLike, /) -> float:
        from sklearn.metrics import d2_tweedie_score

        mean = np.maximum(self.mean(f)[:, 0], LEAST)
        return float(d2_tweedie_score(np.asarray(labels, dtype=np.float64), mean, power=1))

    def mean(self, f: ArrayLike, /) -> Floats:
        return np.asarray(np.exp(as_predictions(f, 1)))

    def curvature(self, f: ArrayLike, /) -> Floats:
        return self.mean(f)

    def link(self, mean: ArrayLike, /) -> Floats:
        return np.log(np.clip(as_predictions(mean, 1), LEAST, self.bounds[1]))


def _clipped(number: str, lower: float | None, upper: float | None) -> str:
    ends = [(sign, float_literal(end)) for sign, end in (("<", lower), (">", upper)) if end is not None]
    cases = " ".join(f"WHEN {number} {sign} {end} THEN {end}" for sign, end in ends)
    return f"CASE {cases} ELSE {number} END" if cases else number
