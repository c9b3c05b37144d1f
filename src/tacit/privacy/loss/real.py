"""The loss of real Gaussian noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tacit.privacy.distribution import LossDistribution, interval_for
from tacit.privacy.loss.base import DistributionPrice
from tacit.privacy.loss.gaussian_mixture import REACH, GaussianMixture, on_cells, revealed
from tacit.privacy.rounding import check_epsilon

__all__ = ["HIDES_NOTHING", "GaussianLoss"]

HIDES_NOTHING = 1 / 32  # the usual loss is then above 500


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianLoss(DistributionPrice):
    """Real Gaussian noise; under a Guarantee only with the assumption that its arithmetic is exact.

    Examples
    --------
    >>> round(GaussianLoss(scale=3.730632, sensitivity=1.0).distribution().epsilon_at(1e-5), 3)
    1.0
    """

    kind: ClassVar[str] = "gaussian"
    scale: float
    sensitivity: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", check_epsilon(self.scale, name="scale"))
        object.__setattr__(self, "sensitivity", check_epsilon(self.sensitivity, name="sensitivity"))

    @property
    def mu(self) -> float:
        """Sensitivity / scale."""
        return self.sensitivity / self.scale

    @property
    def rho(self) -> float:
        """mu^2 / 2."""
        return self.mu**2 / 2

    def for_group(self, rows: int) -> GaussianLoss:
        """As many times the sensitivity."""
        return replace(self, sensitivity=rows * self.sensitivity)

    def distribution(self) -> LossDistribution:
        """Cells of output x between N(mu, 1) and N(0, 1), with loss mu x - mu^2/2; all is revealed without noise."""
        mu = self.mu
        if self.scale < HIDES_NOTHING * self.sensitivity:
            return revealed(1.0)
        h = interval_for(mu**2 + mu**4 / 4)
        lower = math.floor((mu**2 / 2 - REACH * mu) / h)
        grid = np.asarray(np.arange(lower, math.ceil((mu**2 / 2 + REACH * mu) / h) + 1) * h, dtype=np.float64)
        return on_cells(
            lower,
            grid / mu + mu / 2,
            P=GaussianMixture(weights=(1.0,), means=(mu,)),
            Q=GaussianMixture(weights=(1.0,), means=(0.0,)),
            h=h,
        )
