"""What noisy steps on sampled rows cost: Poisson sampling, Gaussian noise, one record replaced."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

from tacit.privacy.errors import InvalidInput
from tacit.privacy.loss import SampledGaussianLoss, sampled_step
from tacit.privacy.rounding import check_count, check_delta, check_epsilon

__all__ = ["ASSUMPTIONS", "epsilon_add_or_remove", "find_noise", "plan_run", "sampling"]

ASSUMPTIONS = (
    "the noise is floating-point Gaussian noise: its rounding is not accounted for",
    "the number of rows is public; a neighbor has one record replaced",
    "the network, its first weights and all settings were chosen without these rows",
    "module and loss treat each row by itself and keep nothing of it: tried on two rows, not proved",
)
"""What the guarantee of every model trained by DP-SGD rests on."""

_FINEST = 0.05  # less noise than this protects nobody
_COARSEST = 4096.0
_FINE = 5e-5  # relative


def epsilon_add_or_remove(loss: SampledGaussianLoss, *, delta: float) -> float:
    """Return the epsilon for a person added or removed: to compare with other tools, never the guarantee.

    Replacing a record, which is what a guarantee is about, costs far more.

    References
    ----------
    Abadi et al. (2016), Algorithm 1; Ganesh (2024, arXiv 2401.10294) for several rows of a person.

    Examples
    --------
    >>> loss = SampledGaussianLoss(noise=1.0, rate=0.01, steps=1000)
    >>> round(loss.epsilon_at(1e-5), 2), round(epsilon_add_or_remove(loss, delta=1e-5), 2)
    (2.84, 1.83)
    """
    steps = sampled_step(loss.noise, rate=loss.rate, relation="ADD_OR_REMOVE_ONE", steps=loss.steps, rows=loss.rows)
    return max(step.power(loss.steps).epsilon_at(check_delta(delta)) for step in steps)


def plan_run(rows: int, *, epsilon: float, delta: float, epochs: float, batch_size: int) -> SampledGaussianLoss:
    """Return the steps and the least noise for so many rows, or raise if there are none."""
    if check_count(batch_size, name="batch_size") > rows:
        raise InvalidInput(f"must be at most the {rows} rows, got {batch_size}", field="batch_size")
    check_delta(delta, rows=rows)
    rate, steps = sampling(rows, epochs=epochs, batch_size=batch_size)
    return find_noise(epsilon=epsilon, delta=delta, rate=rate, steps=steps)


def sampling(rows: int, *, epochs: float, batch_size: int) -> tuple[float, int]:
    """Return the probability with which a step draws a row, and the number of steps."""
    return batch_size / rows, max(1, round(epochs * rows / batch_size))


def find_noise(*, epsilon: float, delta: float, rate: float, steps: int) -> SampledGaussianLoss:
    """Return the steps with the least noise, to one part in ten thousand, that cost at most (epsilon, delta)."""
    target, delta = check_epsilon(epsilon), check_delta(delta)
    if delta == 0:
        raise InvalidInput(
            "must be in (0, 1): Gaussian noise has no epsilon at delta 0; use less than 1/rows", field="delta"
        )
    return _search(target, delta, SampledGaussianLoss(noise=1.0, rate=rate, steps=steps))


@lru_cache(maxsize=64)
def _search(target: float, delta: float, run: SampledGaussianLoss) -> SampledGaussianLoss:
    from scipy.optimize import brentq

    def excess(log_noise: float) -> float:
        # tame where there is far too little noise: the root is what counts
        return min(replace(run, noise=math.exp(log_noise)).epsilon_at(delta), 10 * target) - target

    step = math.log(2)
    high = 0.0
    while excess(high) > 0:
        high += step
        if high > math.log(_COARSEST):
            raise InvalidInput(
                f"must be larger, got {target!r}: no noise up to {_COARSEST:g} reaches it", field="epsilon"
            )
    low = high - step
    while excess(low) <= 0:
        if low < math.log(_FINEST):
            return replace(run, noise=math.exp(low))
        low, high = low - step, low
    found = brentq(excess, low, high, xtol=_FINE)
    while excess(found) > 0:  # the private side of the root
        found += _FINE
    return replace(run, noise=math.exp(found))
