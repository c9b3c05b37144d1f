"""Upper bounds on the probability of v correct guesses or more in one run, under an (epsilon, delta) guarantee.

W counts successes of r draws with probability q, where q/(1 - q) = e^epsilon prior/(1 - prior).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincc, expit, logit

from tacit.privacy.errors import InvalidInput

__all__ = ["OneRunTail", "SharpTail", "at_least", "check_coin_prior"]

Array = NDArray[np.float64]


class OneRunTail(ABC):
    """A bound on the probability of v correct guesses or more for an (epsilon, delta) mechanism."""

    def p_value(
        self,
        right: ArrayLike,
        guesses: ArrayLike,
        examples: ArrayLike,
        *,
        epsilon: ArrayLike,
        delta: float = 0.0,
        prior: float = 0.5,
    ) -> Array:
        """Bound the probability of at least ``right`` correct guesses."""
        self.check_prior(prior)
        chance = expit(np.asarray(epsilon, dtype=np.float64) + logit(prior))
        v, r, m, q = np.broadcast_arrays(right, guesses, examples, chance)
        return self._bound(v.astype(np.float64), r.astype(np.float64), m.astype(np.float64), q, delta)

    def check_prior(self, prior: float) -> None:
        """Raise if the bound does not hold for a prior."""
        check_coin_prior(prior)

    @abstractmethod
    def _bound(self, v: Array, r: Array, m: Array, q: Array, delta: float) -> Array: ...


@dataclass(frozen=True, slots=True)
class SharpTail(OneRunTail):
    """The largest probability of v correct guesses or more under any (epsilon, delta) mechanism.

    P(V >= v) <= P(W >= v) + m delta P(W >= v) P(W < v)/(v P(W = v)), attained for fair coins.

    References
    ----------
    docs/proofs/epsilon_lower_bounds.md, "One run".
    """

    def _bound(self, v: Array, r: Array, m: Array, q: Array, delta: float) -> Array:
        above, below = at_least(v, r, q), _below(v, r, q)
        with np.errstate(invalid="ignore"):  # infinity times 0 where P(W < v) vanishes: p is 1 there anyway
            added = m * delta * _tail_over_mass(v, r, q, above) * below / np.maximum(v, 1)
        return np.minimum(np.where((v == 0) | (below == 0), 1.0, above + added), 1.0)


def check_coin_prior(prior: float) -> float:
    """Return ``prior``, or raise unless it is a probability that a secret can have."""
    if not 0 < prior < 1:
        raise InvalidInput(f"must be in (0, 1), such as 0.5 for a fair coin, got {prior!r}", field="prior")
    return float(prior)


def at_least(v: Array, r: Array, q: Array) -> Array:
    """Return P(W >= v), 1 for v <= 0."""
    inside = np.clip(v, 1, r)
    return np.where(v <= 0, 1.0, np.where(v > r, 0.0, betainc(inside, r - inside + 1, q)))


def _below(v: Array, r: Array, q: Array) -> Array:
    """P(W < v) for 0 <= v <= r."""
    inside = np.clip(v, 1, r)
    return np.where(v <= 0, 0.0, betaincc(inside, r - inside + 1, q))


def _tail_over_mass(v: Array, r: Array, q: Array, above: Array) -> Array:
    """P(W >= v)/P(W = v); if the mass underflows, the geometric series that bounds it."""
    from scipy.stats import binom  # half a second of import that pure guarantees do not need

    mass = binom.pmf(v, r, q)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (r - v) * q / ((v + 1) * (1 - q))  # P(W = v + 1)/P(W = v), and it falls from there
        series = np.where(ratio < 1, 1 / (1 - ratio), np.inf)
        return np.where(mass > 1e-290, above / mass, series)
