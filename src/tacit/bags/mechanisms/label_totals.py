"""What is added up of the labels of a bag, and the loss that learns from it."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tacit.privacy.errors import InvalidInput
from tacit.privacy.settings import Choice

if TYPE_CHECKING:
    from tacit.bags.losses import SemilinearLoss

__all__ = ["ClassTotals", "EventTotals", "LabelTotals", "NumberTotals", "PositiveTotals"]

_MOST = 1e150  # the largest label: its square, and so its range, must be finite


@dataclass(frozen=True, kw_only=True)
class LabelTotals(Choice):
    """What is added up of the labels of a bag."""

    most_classes: ClassVar[float] = 0
    """How many classes labels may have; 0: they are numbers."""
    noise_needs: ClassVar[tuple[str, ...]] = ()
    """The ends of the labels' range that must be public for noise."""

    def check(self, *, classes: tuple[str, ...] | None, noisy: bool, **ends: float | None) -> None:
        """Raise if the classes of a plan, or the ends of its range, do not fit."""
        if classes is not None and not self.most_classes:
            raise InvalidInput(f"is for totals log and classes, got totals {self.name}", field="classes")
        if classes is not None and self.most_classes == 2 != len(classes):
            raise InvalidInput(
                f"must be two classes for totals {self.name}, got {len(classes)}; use totals classes", field="classes"
            )
        for field, end in ends.items():
            if end is not None and self.most_classes:
                raise InvalidInput(f"is for totals squared and poisson, got totals {self.name}", field=field)
            if end is not None and not abs(end) <= _MOST:
                raise InvalidInput(f"must be a finite number of at most {_MOST:g} in size, got {end}", field=field)
        self._check_range(**ends)
        for field in self.noise_needs if noisy else ():
            if ends[field] is None:
                raise InvalidInput(f"must be given with epsilon for totals {self.name}", field=field)

    def _check_range(self, lower: float | None, upper: float | None) -> None:
        if lower is not None and upper is not None and not lower < upper:
            raise InvalidInput(f"must be below upper, got {lower:g} and {upper:g}", field="lower")

    @abstractmethod
    def loss(self, classes: int, *, lower: float | None, upper: float | None) -> SemilinearLoss:
        """Return the loss whose T(y) is added up."""


@dataclass(frozen=True, kw_only=True)
class PositiveTotals(LabelTotals):
    """How many labels are 1, or the second of two classes."""

    name: ClassVar[str] = "log"
    most_classes: ClassVar[float] = 2

    def loss(self, classes: int, *, lower: float | None, upper: float | None) -> SemilinearLoss:  # noqa: ARG002
        """Return the logistic loss."""
        from tacit.bags.losses import LogisticLoss

        return LogisticLoss()


@dataclass(frozen=True, kw_only=True)
class ClassTotals(LabelTotals):
    """A count per class."""

    name: ClassVar[str] = "classes"
    most_classes: ClassVar[float] = math.inf

    def loss(self, classes: int, *, lower: float | None, upper: float | None) -> SemilinearLoss:  # noqa: ARG002
        """Return the cross-entropy."""
        from tacit.bags.losses import CategoricalLoss

        return CategoricalLoss(classes=classes)


@dataclass(frozen=True, kw_only=True)
class NumberTotals(LabelTotals):
    """The sum of numbers."""

    name: ClassVar[str] = "squared"
    noise_needs: ClassVar[tuple[str, ...]] = ("lower", "upper")

    def loss(self, classes: int, *, lower: float | None, upper: float | None) -> SemilinearLoss:  # noqa: ARG002
        """Return the squared error of numbers in the range."""
        from tacit.bags.losses import SquaredLoss

        return SquaredLoss(lower=lower, upper=upper)


@dataclass(frozen=True, kw_only=True)
class EventTotals(LabelTotals):
    """The sum of counts of events."""

    name: ClassVar[str] = "poisson"
    noise_needs: ClassVar[tuple[str, ...]] = ("upper",)

    def _check_range(self, lower: float | None, upper: float | None) -> None:
        if lower not in (None, 0.0):
            raise InvalidInput(f"must be 0 for totals poisson, got {lower:g}", field="lower")
        if upper is not None and (upper != int(upper) or upper < 1):
            raise InvalidInput(f"must be an integer >= 1 for totals poisson, got {upper:g}", field="upper")

    def loss(self, classes: int, *, lower: float | None, upper: float | None) -> SemilinearLoss:  # noqa: ARG002
        """Return the Poisson loss of counts up to the largest."""
        from tacit.bags.losses import PoissonLoss

        return PoissonLoss(most=None if upper is None else int(upper))
