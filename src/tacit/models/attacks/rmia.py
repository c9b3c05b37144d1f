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

__all__ = ["OfflineRmia", "OnlineRmia", "PairwiseRmia"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OnlineRmia:
    """Score a row by the share of rows z with ratio_x >= ratio_z, ratio_x = p_target(x)/p(x).

    p(x) = (p_in(x) + p_out(x))/2, means over the two or more shadow models with x and those without. All in logarithms.
    The paper asks for ratio_x/ratio_z >= gamma, and takes z from another population: that changes no order, and ties
    rows between the same two gamma ratio_z.

    References
    ----------
    Zarifzadeh, Liu and Shokri (2024), the online attack.
    """

    shadows: ShadowConfidences

    def score(self, confidence: ArrayLike) -> Floats:
        """Return a score per point, from 0 to 1."""
        ratio = self._ratio(confidence)
        return np.asarray(np.searchsorted(np.sort(ratio), ratio, "right") / len(ratio))

    def _ratio(self, confidence: ArrayLike) -> Floats:
        member = self.shadows.member
        own, p = log_expit(self.shadows.check(confidence, inside=True)), log_expit(self.shadows.confidence)
        return np.asarray(own - np.logaddexp(_mean(p, member), _mean(p, ~member)) + math.log(2))


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
        if not 0 <= self.a <= 1:
            raise InvalidInput(f"must be in [0, 1], got {self.a!r}", field="a")

    def _ratio(self, confidence: ArrayLike) -> Floats:
        own = log_expit(self.shadows.check(confidence, inside=False))
        without = _mean(log_expit(self.shadows.confidence), ~self.shadows.member)
        with np.errstate(divide="ignore"):  # a = 1 leaves p_out alone
            average = np.logaddexp(np.log((1 + self.a) / 2) + without, np.log((1 - self.a) / 2))
        return np.asarray(own - average)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairwiseRmia(OnlineRmia):
    """As :class:`OnlineRmia`, with the score ln ratio_x: two rows differ by ln(ratio_x/ratio_z) of the test.

    It orders the rows alike. Where a coin chose one row of each pair, the difference says how sure the guess is.

    References
    ----------
    Zarifzadeh, Liu and Shokri (2024), the pairwise likelihood ratio test.
    """

    def score(self, confidence: ArrayLike) -> Floats:
        """Return a score per point: the logarithm of its likelihood ratio."""
        return self._ratio(confidence)


def _mean(log_p: Floats, chosen: NDArray[np.bool_]) -> Floats:
    """Return the logarithm of the mean of p over the chosen models of each point."""
    return np.asarray(logsumexp(np.where(chosen, log_p, -np.inf), axis=0) - np.log(chosen.sum(axis=0)))
