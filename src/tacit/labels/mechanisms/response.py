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
        """Row y: the exact probability of each output when the label is y.

        Examples
        --------
        >>> sum(RandomizedResponse(epsilon=1.0, classes=3).exact_transition()[0]) == 1
        True
        """
        K = self.K
        keep = keep_coin(self.epsilon, outcomes=K).probability
        other = (1 - keep) / (K - 1)
        return tuple(tuple(keep if i == j else other for j in range(K)) for i in range(K))

    def transition(self) -> NDArray[np.float64]:
        """The transition matrix as floats.

        Examples
        --------
        >>> RandomizedResponse(epsilon=1.0, classes=2).transition().round(6)
        array([[0.731059, 0.268941],
               [0.268941, 0.731059]])
        """
        return response_matrix(epsilon=self.epsilon, classes=self.K)

    def randomize(self, codes: NDArray[np.int64], *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw one output a label.

        Examples
        --------
        >>> RandomizedResponse(epsilon=4000.0, classes=2).randomize(np.array([0, 1]), rng=np.random.default_rng(0))
        array([0, 1])
        """
        labels = check_codes(codes, classes=self.K)
        return randomize_codes(labels, epsilon=self.epsilon, classes=self.K, rng=rng)

    def likelihood(self, observed: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return P(observed | label = c) as column c.

        Examples
        --------
        >>> RandomizedResponse(epsilon=1.0, classes=2).likelihood(np.array([1])).round(6)
        array([[0.268941, 0.731059]])
        """
        return np.asarray(self.transition().T[check_codes(observed, classes=self.K)])

    def posterior(self, prior: ArrayLike) -> NDArray[np.float64]:
        """Return P(label = j | output = i) as row i.

        Examples
        --------
        >>> RandomizedResponse(epsilon=1.0, classes=3).posterior([0.5, 0.3, 0.2])[1].round(6)
        array([0.329927, 0.538102, 0.131971])
        """
        return posterior_of(self.transition(), prior=prior)

    def estimate_counts(self, observed: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return an unbiased estimate of the true class counts from randomized labels.

        Examples
        --------
        >>> RandomizedResponse(epsilon=1.0, classes=2).estimate_counts(np.array([0, 1])).round(6)
        array([1., 1.])
        """
        return estimate_counts(self.transition(), check_codes(observed, classes=self.K))

    def guarantee(self) -> Guarantee:
        """Return the promise for one label.

        Examples
        --------
        >>> print(RandomizedResponse(epsilon=1.0, classes=2).guarantee())
        epsilon 1 for one label
        """
        return Guarantee(unit=Unit.LABEL, epsilon=self.epsilon, assumptions=("features and the class list are public",))
