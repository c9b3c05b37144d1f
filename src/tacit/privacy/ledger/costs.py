"""What each privacy loss costs a filter: its chance to reveal everything, a moment, and a Gaussian variance.

All are rounded up, and add up over releases whose losses were chosen after looking (docs/proofs/filter.md).
"""

from __future__ import annotations

import math
from collections import Counter
from functools import singledispatch

from tacit.privacy.loss import (
    ApproximateLoss,
    ComposedLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    PrivacyLoss,
    SampledGaussianLoss,
    distribution_of,
)
from tacit.privacy.loss.moments import gaussian_moment, laplace_moment, response_moment, sampled_moment
from tacit.privacy.loss.variances import lattice_variance, response_variance
from tacit.privacy.rounding import exact

__all__ = ["log_moment", "revealed", "variance"]


@singledispatch
def revealed(loss: PrivacyLoss) -> float:
    """Return the chance that the loss is infinite: 0 for noise that has a moment."""
    return 0.0 if math.isfinite(loss.pure_epsilon) else distribution_of(loss).infinity


@singledispatch
def log_moment(loss: PrivacyLoss, order: float) -> float:
    """Return log E[e^((order - 1) loss)] over the outcomes that do not reveal everything."""
    if math.isfinite(loss.pure_epsilon):
        return response_moment(loss.pure_epsilon, order=order)
    return distribution_of(loss).log_moment(order)


@singledispatch
def variance(loss: PrivacyLoss, reserve: float) -> float:
    """Return the variance of a Gaussian loss that stands for this one beside a reserve; infinite if none is known."""
    return response_variance(loss.pure_epsilon, reserve=reserve) if math.isfinite(loss.pure_epsilon) else math.inf


@revealed.register
def _(loss: ApproximateLoss) -> float:
    return loss.delta


@log_moment.register
def _(loss: ApproximateLoss, order: float) -> float:
    return response_moment(loss.epsilon, order=order)


@variance.register
def _(loss: ApproximateLoss, reserve: float) -> float:
    return response_variance(loss.epsilon, reserve=reserve)


@log_moment.register
def _(loss: DiscreteLaplaceLoss, order: float) -> float:
    return laplace_moment(loss.scale, loss.sensitivity, order=order)


@revealed.register
def _(loss: DiscreteGaussianLoss) -> float:  # noqa: ARG001
    return 0.0


@log_moment.register
def _(loss: DiscreteGaussianLoss, order: float) -> float:
    return gaussian_moment(loss.sensitivity / loss.scale, order=order)


@variance.register
def _(loss: DiscreteGaussianLoss, reserve: float) -> float:
    return lattice_variance(loss.sensitivity / loss.scale, loss.scale, reserve=reserve)


@revealed.register
def _(loss: GaussianLoss) -> float:  # noqa: ARG001
    return 0.0


@log_moment.register
def _(loss: GaussianLoss, order: float) -> float:
    return gaussian_moment(exact(loss.sensitivity) / exact(loss.scale), order=order)


@variance.register
def _(loss: GaussianLoss, reserve: float) -> float:  # noqa: ARG001
    return (loss.sensitivity / loss.scale) ** 2 * (1 + 1e-9)


@revealed.register
def _(loss: SampledGaussianLoss) -> float:
    return 0.0 if loss.rows == 1 else distribution_of(loss).infinity


@log_moment.register
def _(loss: SampledGaussianLoss, order: float) -> float:
    if loss.rows > 1:
        return distribution_of(loss).log_moment(order)
    return loss.steps * sampled_moment(loss.noise, loss.rate, order=order)


@variance.register
def _(loss: SampledGaussianLoss, reserve: float) -> float:  # noqa: ARG001
    return loss.steps * (2 * loss.rows / loss.noise) ** 2 * (1 + 1e-9) if loss.rate == 1 else math.inf


@revealed.register
def _(loss: ComposedLoss) -> float:
    return loss.times * sum(count * revealed(part) for part, count in Counter(loss.parts).items())


@log_moment.register
def _(loss: ComposedLoss, order: float) -> float:
    return loss.times * sum(count * log_moment(part, order) for part, count in Counter(loss.parts).items())


@variance.register
def _(loss: ComposedLoss, reserve: float) -> float:
    return loss.times * sum(count * variance(part, reserve) for part, count in Counter(loss.parts).items())
