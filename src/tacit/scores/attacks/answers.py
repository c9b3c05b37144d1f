"""An attacker's assumptions about an answer: the host's policy, and the number system that it computes in."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_epsilon
from tacit.scores.losses import FLOAT64, NumberSystem
from tacit.scores.policies import Exact, Policy

__all__ = ["HostAnswers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostAnswers:
    """A bound on how far an answer is from the score, for a score computed in floating point.

    Parameters
    ----------
    policy
        Exact, Rounded or Bounded: one whose answers are within a known distance of the score.
    growth
        Rounding error to reckon with, in units of 2^-bits times the score. NumPy's pairwise sums of many equal
        losses are off by up to about 6, but for other labels by nearly the same, so that 5 is enough for an
        attack that scores its readings as the host does (``benchmarks/bench_scores.py`` measures it). For a host
        that adds in another order take 8, for one that adds rows one by one more.
    """

    policy: Policy = field(default_factory=Exact)
    precision: NumberSystem = FLOAT64
    growth: float = 5.0

    def __post_init__(self) -> None:
        check_epsilon(self.growth, name="growth")
        if self.policy.error is None:
            raise InvalidInput(
                f"must keep answers near the score to be planned for, got {self.policy.name}", field="policy"
            )

    @classmethod
    def of(cls, policy: Policy | HostAnswers | None) -> HostAnswers:
        """Return the answers by a policy; those given as they are, exact ones for None."""
        return cls(policy=policy) if isinstance(policy, Policy) else policy or cls()

    @property
    def unrounded(self) -> bool:
        """Whether an answer is the score itself, to the last bit."""
        return self.policy.error == 0

    def error(self, *, largest: float) -> float:
        """Return the bound for scores up to ``largest``."""
        return (self.policy.error or 0.0) + self.growth * math.ldexp(largest, -self.precision.bits)

    def __str__(self) -> str:
        return f"{self.policy!r}"
