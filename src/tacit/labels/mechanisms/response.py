"""Randomized response: keep the label with a known probability, else draw another one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from tacit.labels.mechanisms.base import LabelMechanism
from tacit.privacy.rounding import check_count

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["RandomizedResponse"]


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse(LabelMechanism):
    """Keep a label with probability e^epsilon / (e^epsilon + K - 1), else draw another one uniformly.

    Unit: one row's label; neighbors differ in that label alone. Assumes that the class list is public. Not
    protected: features, which rows exist, which labels are missing.

    References
    ----------
    Warner (1965); Kairouz, Oh and Viswanath (2016); Das et al. (2024), Section 3. Formula sheet a1 to a3.

    Examples
    --------
    >>> rr = RandomizedResponse(epsilon=1.0, classes=10)
    >>> rr.transition()[0, :2].round(6)
    array([0.231969, 0.085337])
    """

    name: ClassVar[str] = "rr"
    uniform: ClassVar[bool] = True
    phrase: ClassVar[str] = "randomized response"

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.classes, int):
            check_count(self.classes, name="classes", least=2)

    def exact_transition(self) -> tuple[tuple[Fraction, ...], ...]:
        """Row y: the exact probability of each output when the label is y."""
        from tacit.privacy.noise.choice import keep_coin

        keep = keep_coin(self.epsilon, outcomes=self.K).probability
        other = (1 - keep) / (self.K - 1)
        return tuple(tuple(keep if i == j else other for j in range(self.K)) for i in range(self.K))

    def transition(self) -> NDArray[np.float64]:
        """Return the transition matrix as floats."""
        from tacit.privacy.noise.response import response_matrix

        return response_matrix(epsilon=self.epsilon, classes=self.K)

    def randomize(self, codes: NDArray[np.int64], *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw one output per label."""
        from tacit.labels.mechanisms.finite import check_codes
        from tacit.privacy.noise.response import randomize_codes

        labels = check_codes(codes, classes=self.K)
        return randomize_codes(labels, epsilon=self.epsilon, classes=self.K, rng=rng)

    def likelihood(self, observed: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return P(observed | label = c) as column c."""
        from tacit.labels.mechanisms.finite import check_codes

        return self.transition().T[check_codes(observed, classes=self.K)]
