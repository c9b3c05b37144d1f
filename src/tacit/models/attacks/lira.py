"""The likelihood-ratio attack, which compares the target's confidence with models with the row and without it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.models.attacks.shadow import ShadowConfidences
from tacit.models.points import Floats

__all__ = [
    "LEAST_SD",
    "CalibratedLira",
    "OfflineLira",
    "OnlineLira",
    "PooledSpread",
    "SideEstimate",
    "SpreadPerPoint",
    "SpreadRule",
]

LEAST_SD = 1e-6
"""Standard deviations below this count as this: models that agree on a point to the last digit, as trees do."""


class SideEstimate(NamedTuple):
    """Of the models with each point, or of those without it: how many, their mean, and the sum of squares about it."""

    models: NDArray[np.int64]
    mean: Floats
    squares: Floats


class SpreadRule(Protocol):
    """How the standard deviations of the Gaussians are found."""

    def deviations(self, with_point: SideEstimate, without: SideEstimate) -> tuple[Floats, Floats]:
        """Return the standard deviation of f with each point, and without it."""


@dataclass(frozen=True, slots=True)
class SpreadPerPoint:
    """A standard deviation for each point and side, dividing by the count; the paper advises 64 models or more."""

    def deviations(self, with_point: SideEstimate, without: SideEstimate) -> tuple[Floats, Floats]:
        """Return the standard deviation of f with each point, and without it."""
        inside, outside = (
            np.maximum(np.sqrt(side.squares / np.maximum(side.models, 1)), LEAST_SD) for side in (with_point, without)
        )
        return inside, outside


@dataclass(frozen=True, slots=True)
class PooledSpread:
    """One standard deviation for all: the residuals of every point, with and without it, pooled ("fixed variance")."""

    def deviations(self, with_point: SideEstimate, without: SideEstimate) -> tuple[Floats, Floats]:
        """Return the same standard deviation for all points, with them and without."""
        total = with_point.squares.sum() + without.squares.sum()
        sd = max(np.sqrt(total / (with_point.models.sum() + without.models.sum())), LEAST_SD)
        same = np.full(len(without.mean), sd)
        return same, same


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OnlineLira:
    """Score a row by ln N(f; mu_in, s_in^2) - ln N(f; mu_out, s_out^2).

    The moments are those of the shadow models trained with the row, and of those trained without it: two or more each.
    The paper advises ``PooledSpread()`` below 64 models.

    References
    ----------
    Carlini et al. (2022), Algorithm 1.
    """

    shadows: ShadowConfidences
    spread: SpreadRule = field(default_factory=SpreadPerPoint)

    def score(self, confidence: ArrayLike) -> Floats:
        """Return a score per point: the log-likelihood ratio of "in" against "out"."""
        f = self.shadows.check(confidence, inside=True)
        inside, outside = _sides(self.shadows)
        sd_in, sd_out = self.spread.deviations(inside, outside)
        z_in, z_out = (f - inside.mean) / sd_in, (f - outside.mean) / sd_out
        return np.asarray((z_out**2 - z_in**2) / 2 + np.log(sd_out / sd_in))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OfflineLira:
    """Score a row by (f - mu_out)/s_out, the moments those of the two or more shadow models without it.

    The order is that of the published score, Phi of this, which rounds to 1 from 8.3 on and would tie the rows an
    attacker is most confident of. No model with the point is needed; ``PooledSpread()`` takes what residuals there are.

    References
    ----------
    Carlini et al. (2022), the offline variant of Algorithm 1.
    """

    shadows: ShadowConfidences
    spread: SpreadRule = field(default_factory=SpreadPerPoint)

    def score(self, confidence: ArrayLike) -> Floats:
        """Return a score per point: standard deviations above the confidence of models without it."""
        f = self.shadows.check(confidence, inside=False)
        inside, outside = _sides(self.shadows)
        return np.asarray((f - outside.mean) / self.spread.deviations(inside, outside)[1])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CalibratedLira:
    """Score a row by the log odds of "in" under Gaussians that few shadow models do not mislead.

    The effect of training on row i, d_i = mu_in - mu_out, is shrunk toward the mean effect d of all rows: with t^2 the
    variance of the effects beyond their noise e^2 = s^2 (1/k_in + 1/k_out), it becomes d + (d_i - d) t^2/(t^2 + e^2).
    One variance s^2 (1 + 1/k) serves all points, that of one more model about the mean of k. So 1/(1 + e^-score) is
    about the probability of "in" for a fair coin, and 32 models come within a point of the best attack on one step of
    gradient descent, where :class:`OnlineLira` needs 64.

    References
    ----------
    Carlini et al. (2022), Algorithm 1 with a fixed variance; Efron and Morris (1973) for the shrinkage.
    """

    shadows: ShadowConfidences

    def score(self, confidence: ArrayLike) -> Floats:
        """Return a score per point: the log odds of "in" for a fair coin."""
        f = self.shadows.check(confidence, inside=True)
        inside, outside = _sides(self.shadows)
        models = self.shadows.models
        variance = (inside.squares.sum() + outside.squares.sum()) / ((models - 2) * self.shadows.points)
        noise = variance * (1 / inside.models + 1 / outside.models)
        effects = inside.mean - outside.mean
        beyond = max(float(effects.var() - noise.mean()), 0.0)
        effects = effects.mean() + (effects - effects.mean()) * beyond / np.maximum(beyond + noise, LEAST_SD**2)
        middle = (inside.models * inside.mean + outside.models * outside.mean) / models
        away = f - middle + effects * inside.models / models  # from the mean without the point
        return np.asarray((2 * away - effects) * effects / (2 * max(variance * (1 + 1 / models), LEAST_SD**2)))


def _sides(shadows: ShadowConfidences) -> tuple[SideEstimate, SideEstimate]:
    return _side(shadows.confidence, shadows.member), _side(shadows.confidence, ~shadows.member)


def _side(confidence: Floats, chosen: NDArray[np.bool_]) -> SideEstimate:
    """Return count, mean and squares of the chosen models of each point; mean 0 where there are none."""
    count = chosen.sum(axis=0)
    mean = confidence.sum(axis=0, where=chosen) / np.maximum(count, 1)
    squares = np.square(confidence - mean).sum(axis=0, where=chosen)
    return SideEstimate(count, mean, squares)
