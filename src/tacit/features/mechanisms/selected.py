"""The columns that are released, as a mechanism reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.data.classes import Classes
from tacit.features.mechanisms.box import FeatureRanges
from tacit.features.mechanisms.moments import ClassMoments
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.releases import ReleaseMember

__all__ = ["Batches", "BoundMechanism", "SelectedColumns"]

Batches = Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]
"""Rows and the class codes of their labels."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SelectedColumns:
    """Some columns of a table: their totals by class, and their rows with class codes, batch by batch."""

    names: tuple[str, ...]
    label: str
    classes: Classes
    box: FeatureRanges
    moments: ClassMoments
    read: Callable[[], Batches]


class BoundMechanism(Protocol):
    """A mechanism that knows its part of epsilon."""

    apart: ClassVar[bool]
    """Whether every row has noise of its own, so that the losses of a person's rows compose."""

    def guarantees(self, *, features: int) -> list[Guarantee]:
        """Return what it costs to release this many features, part by part."""

    def describe(self, box: FeatureRanges) -> object:
        """Return the standard deviations of the noise on the box's features, as plain JSON."""

    def corner_scores(self, side: int, *, features: int, records: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return what best separates a record in the box's corner ``side`` (1 or -1) from one in the opposite."""

    def draw(self, selected: SelectedColumns, *, rng: np.random.Generator) -> dict[str, ReleaseMember]:
        """Draw the release's member."""
