"""The robust membership attack, which compares a row's likelihood ratio with those of other rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_expit, logsumexp

from tacit.models.attacks.shadow import ShadowConfidences
from tacit.models.points import Floats
from tacit.privacy.errors import InvalidInput

__all__ = ["OfflineRmia", "OnlineRmia", "ReferencePopulation"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReferencePopulation:
    """Other rows z that points are compared with: the target model's f on each z, and the shadow models'."""

    confidence: ArrayLike
    shadows: ShadowConfidences


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OnlineRmia:
    """Score a row by the share of z with ratio_x/ratio_z >= gamma, ratio_x = p_target(x)/p(x).

    p(x) = (p_in(x) + p_out(x))/2, means over the two or more shadow models with x and those without. All in logarithms.
    The order is that of ratio_x, whatever gamma >= 1; but rows between the same two gamma ratio_z tie. With gamma = 1
    and the points themselves as population, the default, none do.

    References
    ----------
    Zarifzadeh, Liu and Shokri (2024), the online attack.
    """

    shadows: ShadowConfidences
    gamma: float = 1.0
    population: ReferencePopulation | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.gamma < math.inf:
            raise InvalidInput(f"must be a finite number >= 1, got {self.gamma!r}", field="gamma")

    def score(self, confidence: ArrayLike) -> Floats:
        """Return a score per point, from 0 to 1."""
        ratio = self._ratio(confidence, self.shadows)
        others = ratio if self.population is None else self._ratio(self.population.confidence, self.population.shadows)
        return _share(ratio, others, self.gamma)

    def _ratio(self, confidence: ArrayLike, shadows: ShadowConfidences) -> Floats:
        own, p = log_expit(shadows.check(confidence, inside=True)), log_expit(shadows.confidence)
        return np.asarray(own - np.logaddexp(_mean(p, shadows.member), _mean(p, ~shadows.member)) + math.log(2))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OfflineRmia(OnlineRmia):
    """As :class:`OnlineRmia`, with p(x) = ((1 + a) p_out(x) + 1 - a)/2: no model with the point is needed.

    p_in is taken as a p_out + 1 - a, so a = 1 says that training on a row changes nothing.

    References
    ----------
    Zarifzadeh, Liu and Shokri (2024), the offline attack and its approximation of p(x).
    """

    a: float = 0.3

    def __post_init__(self) -> None:
        OnlineRmia.__post_init__(self)
        if not 0 <= self.a <= 1:
            raise InvalidInput(f"must be in [0, 1], got {self.a!r}", field="a")

    def _ratio(self, confidence: ArrayLike, shadows: ShadowConfidences) -> Floats:
        own = log_expit(shadows.check(confidence, inside=False))
        without = _mean(log_expit(shadows.confidence), ~shadows.member)
        with np.errstate(divide="ignore"):  # a = 1 leaves p_out alone
            average = np.logaddexp(np.log((1 + self.a) / 2) + without, np.log((1 - self.a) / 2))
        return np.asarray(own - average)


def _mean(log_p: Floats, chosen: NDArray[np.bool_]) -> Floats:
    """Return the logarithm of the mean of p over the chosen models of each point."""
    return np.asarray(logsumexp(np.where(chosen, log_p, -np.inf), axis=0) - np.log(chosen.sum(axis=0)))


def _share(ratio: Floats, others: Floats, gamma: float) -> Floats:
    """Return the share of the others at or below ratio/gamma; all are logarithms."""
    return np.asarray(np.searchsorted(np.sort(others), ratio - math.log(gamma), "right") / len(others))
