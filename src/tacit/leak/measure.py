"""The result of an attack, with its lower bound on epsilon; every attack of every surface returns it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.leak.epsilon import EpsilonBound
from tacit.leak.intervals import Interval
from tacit.leak.odds import OddsChange
from tacit.leak.roc import RocCurve
from tacit.leak.stored_result import StoredResult
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee

__all__ = ["Leak"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak(StoredResult):
    """How often an attack succeeds, how often it would without the release, and a lower bound on epsilon.

    Parameters
    ----------
    baseline
        The rate without the release.
    baseline_right, baseline_trials
        The counts behind the baseline, if it was measured.
    examples
        The number of rows that the attack chose its trials from, if it may abstain: the bound depends on it.
    thresholds
        The number of thresholds that were tried: intervals and bound are corrected for the choice.
    rate_of, baseline_of
        The words for the two rates in the sentence.
    changes
        How much the release changes the odds of each class, worst class first; empty where there are no classes.
    before, after
        The attacker's beliefs before and after the release, as (rows, classes) probabilities; what is ``after`` one
        release is the next attack's ``before``.
    guesses
        One row per guess; as confidential as the labels.
    notes
        Sentences before the measurement: what is certain, what was assumed.
    facts
        Other results of this attack, as plain JSON.

    Examples
    --------
    >>> from tacit.leak import leak_from_guesses
    >>> leak = leak_from_guesses([1] * 90 + [0] * 10, [1] * 100, baseline=0.5)
    >>> leak.rate, round(leak.advantage, 3), leak.right, leak.trials
    (0.9, 0.4, 90, 100)
    >>> print(leak)
    90.0% of 100 guesses are correct, compared with 50.0% without the release: advantage 0.400 (0.324 to 0.451 at 95%),
    and epsilon is at least 1.630 (95% confidence, right guesses of one run).
    """

    known_as: ClassVar[str] = "a leak"

    right: int
    trials: int
    baseline: float
    interval: Interval
    advantage_interval: Interval
    method: str
    rate_of: str
    baseline_of: str
    baseline_right: int | None = None
    baseline_trials: int | None = None
    examples: int | None = None
    thresholds: int = 1
    bound: EpsilonBound | None = field(default=None, metadata={"key": "epsilon_lower_bound"})
    roc: RocCurve | None = None
    changes: tuple[OddsChange, ...] = ()
    before: NDArray[np.float64] | None = field(default=None, compare=False, repr=False)
    after: NDArray[np.float64] | None = field(default=None, compare=False, repr=False)
    guesses: pa.Table | None = field(default=None, compare=False, repr=False)
    notes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """How often the attack succeeded; NaN if nothing was counted."""
        return self.right / self.trials if self.trials else math.nan

    @property
    def advantage(self) -> float:
        """Rate minus baseline."""
        return self.rate - self.baseline

    @property
    def epsilon_lower_bound(self) -> float:
        """The empirical lower bound on epsilon; 0, which always holds, if the attack has none."""
        return 0.0 if self.bound is None else self.bound.value

    def exceeds(self, guarantee: Guarantee) -> bool:
        """Return whether the lower bound on epsilon is above a guarantee: then the guarantee or the attack is wrong.

        The caller must match the unit: the attack's two worlds must differ in what the guarantee protects. A bound at
        some delta applies to guarantees at that delta or a smaller one.
        """
        if self.bound is None:
            raise InvalidInput("this leak has no epsilon bound to compare with a guarantee")
        if self.bound.delta < guarantee.delta:
            raise InvalidInput(
                f"must be at least the guarantee's {guarantee.delta!r}, this leak's bound was computed at "
                f"{self.bound.delta!r}: measure it again with delta={guarantee.delta!r}",
                field="delta",
            )
        return self.bound.value > guarantee.epsilon

    def of_this_release(self) -> Leak:
        """Return the leak with intervals for this release alone: its rows share one draw of noise, or one model."""
        scope = "of this release"
        changes = tuple(replace(change, scope=scope) for change in self.changes)
        return replace(self, method=f"{self.method}; {scope}", changes=changes)

    def to_json(self) -> dict[str, Any]:
        """Return the leak as plain JSON, with its rates."""
        rates = {"rate": self.rate, "advantage": self.advantage} if self.trials else {"rate": None, "advantage": None}
        return {**rates, **StoredResult.to_json(self)}

    @classmethod
    def uncounted(
        cls, *, notes: Sequence[str], facts: Mapping[str, Any], guesses: pa.Table | None = None, level: float = 0.95
    ) -> Leak:
        """Return the result of an attack without a truth to count correct guesses."""
        return cls(
            right=0,
            trials=0,
            baseline=0.0,
            interval=Interval(low=0.0, high=1.0, level=level),
            advantage_interval=Interval(low=-1.0, high=1.0, level=level),
            method="nothing was counted",
            rate_of="guesses are correct",
            baseline_of="without the release",
            guesses=guesses,
            notes=tuple(notes),
            facts=facts,
        )

    def __str__(self) -> str:
        if not self.trials:
            return "Nothing was counted: there is no truth to compare the guesses with."
        level = f"{100 * self.advantage_interval.level:.4g}%"
        proof = "" if self.bound is None else f", and {self.bound}"
        worst = f"\n{self.changes[0]}." if self.changes else ""
        return (
            f"{self.rate:.1%} of {self.trials} {self.rate_of}, compared with {self.baseline:.1%} {self.baseline_of}: "
            f"advantage {self.advantage:.3f} ({self.advantage_interval} at {level}){proof}.{worst}"
        )
