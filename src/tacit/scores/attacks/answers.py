"""An attacker's assumptions about an answer: the host's policy, and the number system that it computes in."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_epsilon
from tacit.scores.losses import FLOAT64, Precision
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
    shift
        Largest size of an unknown number that the host adds to every score; None: it adds none. The size matters
        for unrounded answers alone, whose rounding grows with them.
    either_sign
        With a shift: whether larger may be better, so that answers are shift - score.
    """

    policy: Policy = field(default_factory=Exact)
    precision: Precision = FLOAT64
    growth: float = 5.0
    shift: float | None = None
    either_sign: bool = False

    def __post_init__(self) -> None:
        check_epsilon(self.growth, name="growth")
        if self.shift is not None:
            check_epsilon(self.shift, name="shift", zero=True)
        if self.policy.error is None:
            raise InvalidInput(
                f"must keep answers near the score to be planned for, got {self.policy.name}", field="policy"
            )

    @property
    def unrounded(self) -> bool:
        """Whether an answer is the score itself, to the last bit."""
        return self.policy.error == 0 and self.shift is None

    def error(self, *, largest: float) -> float:
        """Return the bound for scores up to ``largest``; twice as much with a shift, which is known up to one error."""
        hidden = self.policy.error or 0.0
        if self.shift is None:
            return hidden + self.growth * math.ldexp(largest, -self.precision.bits)
        return 2 * (hidden + self.growth * math.ldexp(largest + self.shift, -self.precision.bits))

    def __str__(self) -> str:
        return f"{self.policy!r}" if self.shift is None else f"{self.policy!r} with a shift"
