"""Randomized response: keep the label with a known probability, else draw another one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.labels.mechanisms.finite import OverClasses, check_codes, estimate_counts, posterior_of
from tacit.privacy.guarantee import Guarantee, Unit
from tacit.privacy.noise.choice import keep_coin
from tacit.privacy.noise.response import randomize_codes, response_matrix

__all__ = ["RandomizedResponse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizedResponse(OverClasses):
    """Keep a label with probability e^epsilon / (e^epsilon + K - 1), else draw another one uniformly.

    Unit: one row's label; neighbours differ in that label alone. Assumes that the class list is public. Not
    protected: features, which rows exist, which labels are missing.

    Parameters
    ----------
    epsilon
        In (0, 4096], read as the decimal it prints.
    classes
        K >= 2; None until :meth:`bind`.

    References
    ----------
    Warner (1965); Kairouz, Oh and Viswanath (2016); Das et al. (2024), Section 3. Formula sheet a1 to a3.

    Examples
    --------
    >>> rr = RandomizedResponse(epsilon=1.0, classes=10)
    >>> rr.transition()[0, :2].round(6)
    array([0.231969, 0.085337])
    >>> rr.randomize(np.array([3, 3, 7]), rng=np.random.default_rng(0)).shape
    (3,)
    """

    name: ClassVar[str] = "randomized_response"

    def exact_transition(self) -> tuple[tuple[Fraction, ...], ...]:
        """Row y: the exact probability of each output when the label is y."""
        K = self.K
        keep = keep_coin(self.epsilon, outcomes=K).probability
        other = (1 - keep) / (K - 1)
        return tuple(tuple(keep if i == j else other for j in range(K)) for i in range(K))

    def transition(self) -> NDArray[np.float64]:
        """The transition matrix as floats."""
        return response_matrix(epsilon=self.epsilon, classes=self.K)

    def randomize(self, codes: NDArray[np.int64], *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw one output a label."""
        labels = check_codes(codes, classes=self.K)
        return randomize_codes(labels, epsilon=self.epsilon, classes=self.K, rng=rng)

    def likelihood(self, observed: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return P(observed | label = c) as column c."""
        return np.asarray(self.transition().T[check_codes(observed, classes=self.K)])

    def posterior(self, prior: ArrayLike) -> NDArray[np.float64]:
        """Return P(label = j | output = i) as row i."""
        return posterior_of(self.transition(), prior=prior)

    def estimate_counts(self, observed: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return an unbiased estimate of the true class counts from randomized labels."""
        return estimate_counts(self.transition(), check_codes(observed, classes=self.K))

    def guarantee(self) -> Guarantee:
        """Return the guarantee for one label."""
        return Guarantee(unit=Unit.LABEL, epsilon=self.epsilon, assumptions=("features and the class list are public",))
