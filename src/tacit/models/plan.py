"""What is asked for when a model is trained for release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from tacit.models.mechanisms import DpSgd, EarlyStop, LabelPrivate, Margin, Plain
from tacit.privacy import plan
from tacit.privacy.errors import InvalidInput
from tacit.privacy.settings import about

__all__ = ["EVERY_COLUMN", "Plan"]

EVERY_COLUMN = "*"
"""The name in ``ranges`` for every column that has no range of its own."""

_DELTA = 1e-6  # of a plan without noise that is moved to an epsilon


@dataclass(frozen=True, kw_only=True)
class Plan(plan.Plan):
    """A model to train on a table, and the guarantee for the rows it is trained on.

    Unit: one record for ``DpSgd``, one label for ``LabelPrivate``; the other mechanisms have no guarantee and need
    ``epsilon=None``.

    Parameters
    ----------
    mechanism
        How the model is trained.
    ranges
        Public ranges of features, which training needs to be of the order of 1: a range is mapped to [-1, 1], values
        outside of it beyond. ``"*"`` names every other column; a column without a range is used as it is.

    Examples
    --------
    >>> plan = Plan(label="ill", epsilon=3, delta=1e-6, mechanism="dp_sgd:width=16", ranges={"*": (0, 100)})
    >>> " ".join(plan.to_options())
    '--label ill --epsilon 3 --delta 1e-06 --mechanism dp_sgd:width=16 --ranges *=0,100'
    """

    surface: ClassVar[str] = "models"

    mechanism: DpSgd | LabelPrivate | Margin | EarlyStop | Plain = field(
        default=DpSgd(),  # frozen
        metadata=about("How the model is trained."),
    )
    ranges: Mapping[str, tuple[float, float]] = field(
        default_factory=dict,
        metadata=about(
            "The public range of a feature, which is mapped to [-1, 1]; * for every other column. Repeatable.",
            rule="COLUMN=LOW,HIGH with LOW below HIGH, both finite",
            holds=lambda ranges: all(-float("inf") < low < high < float("inf") for low, high in ranges.values()),
        ),
    )

    @property
    def suffix(self) -> str:
        """As the mechanism stores its model."""
        return self.mechanism.ending

    def check(self) -> None:
        """Raise if the mechanism cannot keep what is asked for."""
        super().check()
        if self.person is not None or self.rows_per_person != 1:
            name = "person" if self.person is not None else "rows_per_person"
            raise InvalidInput("must not be given: the guarantee of a model is for one row", field=name)
        if self.mechanism.two_classes and self.classes is not None and len(self.classes) != 2:
            raise InvalidInput(f"must be two for {self.mechanism.name}, got {len(self.classes)}", field="classes")
        self.mechanism.check(self)

    def describe(self) -> str:
        """Return what is released, in words."""
        return f"{self.mechanism.in_words()}, {self.cost or 'trained without protection'}"

    def at(self, epsilon: float) -> Self:
        """Return the same model trained at an epsilon; a mechanism without a guarantee becomes DP-SGD."""
        if self.epsilon is not None:
            return replace(self, epsilon=epsilon)
        return replace(self, epsilon=epsilon, delta=_DELTA, mechanism=DpSgd())
