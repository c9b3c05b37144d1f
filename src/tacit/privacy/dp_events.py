"""Privacy losses as events of dp-accounting, and back: for accountants of other projects.

An event states the norm of one record. With ``NeighboringRelation.REPLACE_SPECIAL`` neighbors are one norm apart, with
``REPLACE_ONE`` two. Steps on sampled rows are for one replaced record, so they need the latter.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tacit.privacy.errors import InvalidInput
from tacit.privacy.loss import (
    ComposedLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    PrivacyLoss,
    PureLoss,
    SampledGaussianLoss,
)
from tacit.privacy.rounding import exact, round_up

if TYPE_CHECKING:
    from dp_accounting.dp_event import DpEvent

__all__ = ["event_of", "loss_of_event"]


def event_of(loss: PrivacyLoss, *, replace_one: bool = False) -> DpEvent:
    """Return the event of a privacy loss, with parameters rounded to where the event costs more.

    Discrete Gaussian noise becomes its zero-concentrated event, because dp-accounting has no event for it. A stated
    delta without a curve, and DP-SGD for several rows of one person, have no event and are rejected.

    Parameters
    ----------
    replace_one
        Whether the accountant's relation is ``REPLACE_ONE``, which DP-SGD needs. Laplace noise then counts as
        randomized response of the same epsilon.

    Examples
    --------
    >>> from tacit.privacy.loss import GaussianLoss
    >>> event_of(GaussianLoss(scale=4.0, sensitivity=2.0))
    GaussianDpEvent(noise_multiplier=2.0)
    """
    from dp_accounting import dp_event

    match loss:
        case ComposedLoss(parts=parts, times=times):
            events = [event_of(part, replace_one=replace_one) for part in parts]
            if replace_one:  # dp-accounting 0.6 forgets how often randomized response is composed with itself
                return dp_event.ComposedDpEvent(events * times)
            return dp_event.SelfComposedDpEvent(dp_event.ComposedDpEvent(events), times)
        case SampledGaussianLoss(rows=1) if replace_one:
            step = dp_event.PoissonSampledDpEvent(loss.rate, dp_event.GaussianDpEvent(loss.noise))
            return dp_event.SelfComposedDpEvent(step, loss.steps)
        case DiscreteGaussianLoss():
            return dp_event.ZCDpEvent(loss.rho)
        case GaussianLoss():
            ratio = (1 + replace_one) * exact(loss.scale) / exact(loss.sensitivity)
            return dp_event.GaussianDpEvent(-round_up(-ratio))
        case DiscreteLaplaceLoss() if not replace_one:
            return dp_event.DiscreteLaplaceDpEvent(round_up(1 / loss.scale), loss.sensitivity)
    if not math.isfinite(loss.pure_epsilon):
        needed = " without replace_one, or" if isinstance(loss, SampledGaussianLoss) else ""
        raise InvalidInput(f"must have an event in dp-accounting, {loss.kind} has none{needed}", field="loss")
    if loss.pure_epsilon == 0:
        return dp_event.NoOpDpEvent()
    if not replace_one:  # on one bit, randomized response is discrete Laplace noise
        return dp_event.DiscreteLaplaceDpEvent(loss.pure_epsilon, 1)
    replaced = math.nextafter(2 / (1 + math.exp(loss.pure_epsilon)) * (1 - 1e-15), 0.0)
    return dp_event.RandomizedResponseDpEvent(noise_parameter=replaced, num_buckets=2)


def loss_of_event(event: DpEvent, *, replace_one: bool = False) -> PrivacyLoss:
    """Return a privacy loss that dominates an event's.

    Parameters
    ----------
    replace_one
        Whether neighbors replace one record, so that sums move by two norms.

    Examples
    --------
    >>> from dp_accounting import dp_event
    >>> loss_of_event(dp_event.SelfComposedDpEvent(dp_event.LaplaceDpEvent(2.0), 3)).pure_epsilon
    1.5
    """
    from dp_accounting import dp_event

    norms = 2 if replace_one else 1
    match event:
        case dp_event.NoOpDpEvent():
            return PureLoss(epsilon=0.0)
        case dp_event.LaplaceDpEvent(noise_multiplier=scale):
            return PureLoss(epsilon=round_up(norms / exact(scale)))
        case dp_event.RandomizedResponseDpEvent(noise_parameter=p, num_buckets=k):
            return PureLoss(epsilon=math.log1p(k * (1 - p) / p) * (1 + 1e-14))
        case dp_event.DiscreteLaplaceDpEvent(noise_parameter=a, sensitivity=moved):
            return DiscreteLaplaceLoss(scale=1 / exact(a), sensitivity=norms * moved)
        case dp_event.GaussianDpEvent(noise_multiplier=scale):
            return GaussianLoss(scale=scale, sensitivity=float(norms))
        case dp_event.PoissonSampledDpEvent(
            sampling_probability=rate, event=dp_event.GaussianDpEvent(noise_multiplier=noise)
        ) if replace_one:
            return SampledGaussianLoss(noise=noise, rate=rate, steps=1)
        case dp_event.SelfComposedDpEvent(event=one, count=count):
            return _times(loss_of_event(one, replace_one=replace_one), count)
        case dp_event.ComposedDpEvent(events=events):
            return ComposedLoss(parts=tuple(loss_of_event(one, replace_one=replace_one) for one in events))
    raise InvalidInput(f"must be an event with a loss that is known here, got {type(event).__name__}", field="event")


def _times(loss: PrivacyLoss, count: int) -> PrivacyLoss:
    if isinstance(loss, SampledGaussianLoss):
        return SampledGaussianLoss(noise=loss.noise, rate=loss.rate, steps=count * loss.steps)
    return ComposedLoss(parts=(loss,), times=count)
