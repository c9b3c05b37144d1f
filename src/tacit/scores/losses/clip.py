"""How a host keeps probabilities away from 0 and 1."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tacit.privacy.errors import InvalidInput
from tacit.scores.losses.precision import FLOAT64, Numbers, NumberSystem

__all__ = ["MachineEpsilon", "NoClip", "ProbabilityClip", "ProbabilityFloor", "probability_table"]


class ProbabilityClip(ABC):
    """A rule that moves a probability into [floor, 1 - floor]."""

    __slots__ = ()

    def log_floor(self, *, precision: NumberSystem = FLOAT64) -> float:
        """Return the natural logarithm of the least probability that keeps its own loss.

        Without a floor it is the precision's smallest normal number.
        """
        floor = self._floor(precision)
        return max(math.log(floor) if floor > 0 else -math.inf, precision.log_smallest)

    def clip(self, probabilities: Numbers, *, precision: NumberSystem = FLOAT64) -> Numbers:
        """Return the probabilities the host computes with."""
        floor, one = precision.array([self._floor(precision), 1.0])
        bounded: Numbers = np.minimum(np.maximum(probabilities, floor), one - floor)
        return bounded

    @abstractmethod
    def _floor(self, precision: NumberSystem, /) -> float: ...


@dataclass(frozen=True, slots=True)
class NoClip(ProbabilityClip):
    """No clipping: a probability of 0 costs an infinite loss; the number system alone limits a row."""

    def _floor(self, _: NumberSystem) -> float:
        return 0.0


@dataclass(frozen=True, slots=True)
class MachineEpsilon(ProbabilityClip):
    """Clip at the epsilon of the predictions' dtype, as ``sklearn.metrics.log_loss`` does since version 1.3."""

    def _floor(self, precision: NumberSystem) -> float:
        return precision.epsilon


@dataclass(frozen=True, slots=True)
class ProbabilityFloor(ProbabilityClip):
    """Clip into [floor, 1 - floor]; 1e-15 is what older scorers and many competition hosts use."""

    floor: float

    def __post_init__(self) -> None:
        if not 0 < self.floor < 0.5:
            raise InvalidInput(f"must be in (0, 1/2), got {self.floor!r}", field="floor")

    def _floor(self, _: NumberSystem) -> float:
        return self.floor


def probability_table(predictions: ArrayLike, *, classes: int, precision: NumberSystem) -> Numbers:
    """Return probabilities as (rows, classes): one column p represents (1 - p, p)."""
    given = precision.array(predictions)
    inside = (given >= 0) & (given <= 1)
    if not np.all(inside):
        raise InvalidInput(f"must be probabilities in [0, 1], got {given[~inside].flat[0]}", field="predictions")
    if given.ndim == 1 and classes == 2:
        return np.stack([precision.array(1) - given, given], axis=1)
    if given.ndim != 2 or given.shape[1] != classes:
        rule = "(rows,) or (rows, 2)" if classes == 2 else f"(rows, {classes})"
        raise InvalidInput(f"must have shape {rule}, got {given.shape}", field="predictions")
    return given
