"""What noisy steps on sampled rows cost: Poisson sampling, Gaussian noise, one record replaced."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from tacit.privacy.distribution import INTERVAL, LossDistribution
from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count, check_delta, check_epsilon

__all__ = ["SampledGaussian", "find_noise"]

_FINEST = 0.05  # less noise than this protects nobody
_COARSEST = 4096.0
_FINE = 5e-5  # relative


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledGaussian:
    """Steps that each take every row with probability ``rate`` and add Gaussian noise to a sum of clipped vectors.

    Unit: one record; neighbours differ in one record that is *replaced*, so the number of rows is public. The sum of
    vectors of norm at most C gets noise of deviation ``noise`` C. The pair

    P = (1 - q) N(0, s^2) + q N(1, s^2),   Q = (1 - q) N(0, s^2) + q N(-1, s^2)

    dominates one step (proof on the page of this module), and its composition all of them. Replacing costs far more
    than adding or removing a record, which most tools report: see the example.

    Parameters
    ----------
    noise
        s, the deviation of the noise in units of the clipping norm.
    rate
        q, the chance of a row to be in a step.
    steps
        How many steps.

    References
    ----------
    Abadi et al. (2016), Algorithm 1; Zhu, Dong and Wang (2022), Theorem 10 (composition of dominating pairs);
    Doroshenko et al. (2022), the grid.

    Examples
    --------
    >>> run = SampledGaussian(noise=1.0, rate=0.01, steps=1000)
    >>> round(run.epsilon_at(1e-5), 2), round(run.epsilon_add_or_remove(1e-5), 2)
    (2.84, 1.83)
    """

    noise: float
    rate: float
    steps: int

    def __post_init__(self) -> None:
        if not (math.isfinite(self.noise) and self.noise > 0):
            raise InvalidInput(f"noise must be > 0 and finite, got {self.noise!r}")
        if not 0 < self.rate <= 1:
            raise InvalidInput(f"rate must be in (0, 1], got {self.rate!r}")
        object.__setattr__(self, "steps", check_count(self.steps, name="steps"))

    def distribution(self) -> LossDistribution:
        """Return the privacy loss of all steps when one record is replaced.

        Examples
        --------
        >>> SampledGaussian(noise=2.0, rate=1.0, steps=1).distribution().delta_at(1.0) < 0.13
        True
        """
        return self._one_step("REPLACE_ONE")[0].power(self.steps)

    def epsilon_at(self, delta: float) -> float:
        """Return the least epsilon at ``delta`` for one record replaced, rounded up.

        Examples
        --------
        >>> round(SampledGaussian(noise=2.0, rate=1.0, steps=1).epsilon_at(1e-5), 2)
        4.38
        """
        return self.distribution().epsilon_at(check_delta(delta))

    def epsilon_add_or_remove(self, delta: float) -> float:
        """Return the epsilon for one record added or removed: to compare with other tools, never the promise.

        Examples
        --------
        >>> round(SampledGaussian(noise=3.730632, rate=1.0, steps=1).epsilon_add_or_remove(1e-5), 2)
        1.0
        """
        parts = self._one_step("ADD_OR_REMOVE_ONE")
        return max(part.power(self.steps).epsilon_at(check_delta(delta)) for part in parts)

    def _one_step(self, relation: str) -> list[LossDistribution]:
        import dp_accounting  # a second of import that few commands need
        from dp_accounting.pld import privacy_loss_distribution

        built = privacy_loss_distribution.from_gaussian_mechanism(
            self.noise,
            sampling_prob=self.rate,
            value_discretization_interval=INTERVAL,
            neighboring_relation=dp_accounting.NeighboringRelation[relation],
        )
        directions = [built._pmf_remove] if built._symmetric else [built._pmf_remove, built._pmf_add]
        dense = [one.to_dense_pmf() for one in directions]  # no public accessor in 0.6
        return [LossDistribution(d._lower_loss, np.asarray(d._probs, float), d._infinity_mass) for d in dense]


def find_noise(*, epsilon: float, delta: float, rate: float, steps: int) -> SampledGaussian:
    """Return the steps with the least noise, to one part in ten thousand, that cost at most (epsilon, delta).

    Parameters
    ----------
    epsilon, delta
        The promise for one record replaced; delta > 0.
    rate, steps
        As in :class:`SampledGaussian`.

    Examples
    --------
    >>> run = find_noise(epsilon=3.0, delta=1e-5, rate=0.05, steps=100)
    >>> bool(2.99 < run.epsilon_at(1e-5) <= 3.0)
    True
    """
    target, delta = check_epsilon(epsilon), check_delta(delta)
    if delta == 0:
        raise InvalidInput("delta must be in (0, 1): Gaussian noise has no epsilon at delta 0; use less than 1/rows")
    return _search(target, delta, SampledGaussian(noise=1.0, rate=rate, steps=steps))


@lru_cache(maxsize=64)
def _search(target: float, delta: float, run: SampledGaussian) -> SampledGaussian:
    from scipy.optimize import brentq

    def excess(log_noise: float) -> float:
        # tame where there is far too little noise: the root is what counts
        return min(replace(run, noise=math.exp(log_noise)).epsilon_at(delta), 10 * target) - target

    step = math.log(2)
    high = 0.0
    while excess(high) > 0:
        high += step
        if high > math.log(_COARSEST):
            raise InvalidInput(f"epsilon must be larger, got {target!r}: no noise up to {_COARSEST:g} reaches it")
    low = high - step
    while excess(low) <= 0:
        if low < math.log(_FINEST):
            return replace(run, noise=math.exp(low))
        low, high = low - step, low
    found = brentq(excess, low, high, xtol=_FINE)
    while excess(found) > 0:  # the private side of the root
        found += _FINE
    return replace(run, noise=math.exp(found))
