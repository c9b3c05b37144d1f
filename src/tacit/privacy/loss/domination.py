"""Whether a release may take the place of another: all that it reveals, the other reveals too."""

from __future__ import annotations

import math
from functools import lru_cache, singledispatch

import numpy as np

from tacit.privacy.loss.base import PrivacyLoss, distribution_of
from tacit.privacy.loss.composed import ComposedLoss
from tacit.privacy.loss.discrete import DiscreteGaussianLoss, DiscreteLaplaceLoss
from tacit.privacy.loss.real import GaussianLoss
from tacit.privacy.loss.sampled import SampledGaussianLoss
from tacit.privacy.loss.worst import ApproximateLoss, PureLoss
from tacit.privacy.rounding import exact

__all__ = ["dominates"]

_POINTS = 400
_RELATIVE, _ABSOLUTE = 1e-6, 1e-10  # far above the rounding of a curve
_LARGEST = 100.0  # a bounded loss; far below where distributions count losses as infinite


@lru_cache(maxsize=4096)
def dominates(loss: PrivacyLoss, other: PrivacyLoss) -> bool:
    """Return True only if the pair of the first loss is proved to dominate that of the other.

    By the parameters, where a proof is known, else by the curves where the other loss is bounded. False says nothing.

    References
    ----------
    docs/proofs/filter.md, reserved releases.

    Examples
    --------
    >>> from fractions import Fraction
    >>> dominates(PureLoss(epsilon=1.0), DiscreteLaplaceLoss(scale=Fraction(2), sensitivity=2))
    True
    >>> dominates(GaussianLoss(scale=4.0, sensitivity=1.0), PureLoss(epsilon=0.19))
    True
    >>> dominates(GaussianLoss(scale=4.0, sensitivity=1.0), PureLoss(epsilon=0.21))
    False
    """
    return loss == other or other.pure_epsilon == 0 or _covers(loss, other)


@singledispatch
def _covers(loss: PrivacyLoss, other: PrivacyLoss) -> bool:  # noqa: ARG001
    return False


@_covers.register
def _(loss: PureLoss, other: PrivacyLoss) -> bool:
    return math.isfinite(other.pure_epsilon) and exact(other.pure_epsilon) <= exact(loss.epsilon)


@_covers.register
def _(loss: ApproximateLoss, other: PrivacyLoss) -> bool:
    epsilon = other.epsilon_at(loss.delta)
    return math.isfinite(epsilon) and exact(epsilon) <= exact(loss.epsilon)


@_covers.register(DiscreteLaplaceLoss)
@_covers.register(DiscreteGaussianLoss)
def _(loss: DiscreteLaplaceLoss | DiscreteGaussianLoss, other: PrivacyLoss) -> bool:
    if isinstance(other, type(loss)) and loss.scale == other.scale and other.sensitivity <= loss.sensitivity:
        return True
    return loss.outcomes == 1 and _lies_below(other, loss)


@_covers.register
def _(loss: GaussianLoss, other: PrivacyLoss) -> bool:
    if isinstance(other, GaussianLoss):
        return exact(other.sensitivity) * exact(loss.scale) <= exact(loss.sensitivity) * exact(other.scale)
    return (other.mu is not None and other.mu * (1 + 1e-12) <= loss.mu) or _lies_below(other, loss)


@_covers.register
def _(loss: SampledGaussianLoss, other: PrivacyLoss) -> bool:
    return isinstance(other, SampledGaussianLoss) and (
        other.noise >= loss.noise and other.rate <= loss.rate and other.steps <= loss.steps and other.rows <= loss.rows
    )


@_covers.register
def _(loss: ComposedLoss, other: PrivacyLoss) -> bool:
    if not isinstance(other, ComposedLoss):
        return any(dominates(part, other) for part in loss.parts)
    fewer = other.times <= loss.times and len(other.parts) <= len(loss.parts)
    return fewer and all(dominates(one, two) for one, two in zip(loss.parts, other.parts, strict=False))


def _lies_below(other: PrivacyLoss, loss: PrivacyLoss) -> bool:
    """Compare the curves between 0 and the largest loss of the other, beyond which its delta is 0.

    At the points of its grid the loss's distribution has the true delta. Both curves fall, so between two points the
    other has at most what it has at the first, and the loss at least what it has at the second.
    """
    most = other.pure_epsilon
    above, below = distribution_of(other), distribution_of(loss)
    end = math.floor(min(most, _LARGEST) / below.interval) + 1
    if most > _LARGEST or end > below.lower + len(below.masses):
        return False
    points = np.unique(np.linspace(0, end, _POINTS).astype(np.int64)) * below.interval
    upper = np.array([above.delta_at(point) for point in points[:-1]])
    lower = np.array([below.delta_at(point) for point in points[1:]])
    return bool((upper + _ABSOLUTE <= lower * (1 - _RELATIVE) - _ABSOLUTE).all())
