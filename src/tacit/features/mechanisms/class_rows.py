"""Class sizes under noise: the denominators of class means, where they are not public."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.features.mechanisms.noise import NoNoise
from tacit.privacy.guarantee import Guarantee, Unit
from tacit.privacy.noise import DiscreteLaplace

__all__ = ["NoisyClassRows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyClassRows:
    """Class sizes under discrete Laplace noise: a record that changes its class moves two of them by one."""

    epsilon: float

    @property
    def noise(self) -> DiscreteLaplace:
        """The noise on each size."""
        return DiscreteLaplace.for_epsilon(self.epsilon, sensitivity=2)

    def guarantee(self) -> Guarantee:
        """Return what the sizes cost."""
        return self.noise.guarantee(sensitivity=2, unit=Unit.RECORD)

    def draw(self, counts: NDArray[np.int64], *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return noisy sizes, at least 1."""
        noise = NoNoise() if math.isinf(self.epsilon) else self.noise
        return np.asarray(np.maximum(counts + noise.draw(len(counts), rng=rng), 1), dtype=np.int64)
