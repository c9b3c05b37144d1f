"""The noise of an epsilon, which may be infinite: then there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput
from tacit.privacy.noise.choice import MOST_EPSILON
from tacit.privacy.rounding import check_delta, check_epsilon

__all__ = ["NoNoise", "check_gaussian"]


@dataclass(frozen=True, slots=True)
class NoNoise:
    """What an infinite epsilon adds to integers: nothing."""

    scale: Fraction = Fraction(0)

    def draw(self, size: int | tuple[int, ...], *, rng: np.random.Generator) -> NDArray[np.int64]:  # noqa: ARG002
        """Return zeros."""
        return np.zeros(size, dtype=np.int64)


def check_gaussian(epsilon: float, delta: float) -> None:
    """Raise unless there is Gaussian noise for this guarantee: above epsilon 4096 it is finer than the grid."""
    if math.isinf(epsilon) and delta == 0:
        return
    check_delta(delta, zero=False)
    if check_epsilon(epsilon) > MOST_EPSILON:
        raise InvalidInput(
            f"must be at most {MOST_EPSILON}, got {epsilon!r}; use epsilon none to release without a guarantee",
            field="epsilon",
        )
