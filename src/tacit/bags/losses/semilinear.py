"""What makes a loss semilinear: it meets the label through T(y)'f alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.data.queries import SqlColumn
from tacit.privacy.errors import InvalidInput

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["LEAST", "Floats", "SemilinearLoss", "as_labels", "as_predictions", "refuse"]

Floats = NDArray[np.float64]

# a predicted mean is kept this far from the ends of its range, so that its link is finite
LEAST = 1e-12


class SemilinearLoss(ABC):
    """Base of the losses b(f) - T(y)'f + c(y) whose totals of T(y) can be released and learned from."""

    __slots__ = ()

    name: ClassVar[str]
    of_classes: ClassVar[bool] = False  # every entry of T(y) is 0 or 1
    exclusive: ClassVar[bool] = False  # exactly one entry of T(y) is 1
    identity_link: ClassVar[bool] = False  # the mean is f itself, as labels are real numbers
    for_other_labels: ClassVar[str | None] = None  # which totals to ask for where labels are out of range

    @property
    @abstractmethod
    def targets(self) -> int:
        """The dimension of T(y) and of the prediction f."""

    @property
    @abstractmethod
    def bounds(self) -> tuple[Floats, Floats]:
        """The least and the greatest value of each entry of T(y), or -inf and inf where nothing bounds it."""

    @property
    @abstractmethod
    def l1(self) -> float:
        """How far one label can move T(y), in the sum of absolute differences."""

    @property
    def l2(self) -> float:
        """How far one label can move T(y), in Euclidean length."""
        return self.l1

    @abstractmethod
    def statistic(self, labels: ArrayLike, /) -> Floats:
        """Return T(y), one row per label; labels that the loss does not know are rejected."""

    @abstractmethod
    def statistic_in_sql(self, column: SqlColumn, /) -> list[str]:
        """Return T(y) of a column of valid labels, so that its sums are made in the engine."""

    def violation(self, column: SqlColumn, /) -> str:
        """Return what is true in SQL where a label is missing or out of range, and never NULL."""
        if self.class_codes is None:
            return column.is_missing
        return f"NOT COALESCE({column.number} IN ({', '.join(map(str, self.class_codes))}), FALSE)"

    @abstractmethod
    def potential(self, f: ArrayLike, /) -> Floats:
        """Return b(f), one number per row."""

    @abstractmethod
    def mean(self, f: ArrayLike, /) -> Floats:
        """Return the gradient of b at f: the mean of T(y) that f predicts."""

    @abstractmethod
    def curvature(self, f: ArrayLike, /) -> Floats:
        """Return the diagonal of the Hessian of b at f."""

    @abstractmethod
    def link(self, mean: ArrayLike, /) -> Floats:
        """Return the f whose mean is the given one, with the mean kept inside the loss's range."""

    @abstractmethod
    def tensor_potential(self, f: Tensor, /) -> Tensor:
        """Return b(f) of each row, for torch to differentiate."""

    @property
    def class_codes(self) -> NDArray[np.int64] | None:
        """The codes that a label can be, where it is one class; None for numbers."""
        return None

    def label_values(self) -> Floats:
        """Return T(y) of every label, or raise if these are not a short list."""
        raise InvalidInput(
            f"labels are guessed for the log loss, classes, and the Poisson loss with a largest label, got {self}"
        )

    def chain(self, f: Floats, slope: Floats, /) -> Floats:
        """Return the gradient in f of what has the gradient ``slope`` in the mean."""
        return np.asarray(self.curvature(f) * slope)

    def predict(self, f: Floats, /) -> NDArray[Any]:
        """Return the likeliest class, or the predicted mean."""
        return np.asarray(self.mean(f)[:, 0])

    def probabilities(self, f: Floats, /) -> Floats:  # noqa: ARG002
        """Return one column per class."""
        raise InvalidInput(f"predict_proba needs a loss over classes, got {self}; use predict")

    def score(self, f: Floats, labels: ArrayLike, /) -> float:
        """Return accuracy for classes, R^2 for the squared loss, D^2 for counts."""
        return float(np.mean(self.predict(f) == np.asarray(labels, dtype=np.float64)))

    def value(self, f: ArrayLike, labels: ArrayLike, /) -> Floats:
        """Return the loss of each row, c(y) included."""
        return np.asarray(self.potential(f) - np.sum(as_predictions(f, self.targets) * self.statistic(labels), axis=1))

    def describe(self) -> dict[str, Any]:
        """Return the loss as plain data: its name and its parameters."""
        return {"name": self.name, **(asdict(self) if is_dataclass(self) else {})}


def as_predictions(f: ArrayLike, targets: int) -> Floats:
    """Read predictions as a matrix with one column per target."""
    values = np.asarray(f, dtype=np.float64)
    if values.ndim == 1 and targets == 1:
        values = values[:, None]
    if values.ndim != 2 or values.shape[1] != targets:
        raise InvalidInput(f"must have shape (rows, {targets}), got {values.shape}", field="predictions")
    return values


def as_labels(labels: ArrayLike) -> Floats:
    """Read labels as finite numbers, one per row."""
    try:
        y = np.asarray(labels, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput("must be numbers, got text or objects: recode the labels", field="labels") from error
    if y.ndim != 1:
        raise InvalidInput(f"must be one value per row, got an array of shape {y.shape}", field="labels")
    refuse(~np.isfinite(y), y, "a label must be a finite number", "remove or recode the row")
    return y


def refuse(wrong: NDArray[np.bool_], y: Floats, rule: str, remedy: str) -> None:
    """Reject the first wrong label by its value and row."""
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidInput(f"{rule}, got {float(y[row])!r} at row {row}: {remedy}")
