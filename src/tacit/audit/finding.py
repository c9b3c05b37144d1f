"""One planned release: guarantee, leak, utility and advice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tacit.audit.utility import Utility
from tacit.leak import Interval, Leak, clopper_pearson
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import AnyGuarantee, Guarantee, guarantee_from_json

__all__ = ["Finding", "State"]


class State(StrEnum):
    """The state of a release, in the words of the page; the worst first."""

    REFUTED = "its guarantee is violated"
    OPEN = "leaks, nothing is guaranteed"
    WITHIN = "leaks, within its guarantee"
    QUIET = "no leak measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One release that was planned, made and attacked.

    Parameters
    ----------
    data, setting
        The data set, and what is released from it, in words.
    certain
        How many labels the release determines.
    told, remedy
        What the release reveals, and what to do; together they are one sentence.
    seconds
        The duration of one release and attack.
    command
        The command that measures it again; set by the run.
    commands
        What makes this release of the same rows, learns from it and attacks it, without the audit; set by the run, and
        empty where there is no file.
    """

    surface: str
    data: str
    setting: str
    guarantee: AnyGuarantee
    leak: Leak
    utility: Utility
    told: str
    remedy: str
    seconds: float
    certain: int = 0
    command: str = ""
    commands: tuple[str, ...] = ()

    @property
    def advice(self) -> str:
        """What the release reveals and what to do, one sentence."""
        return f"{self.told}: {self.remedy}."

    @property
    def epsilon(self) -> float | None:
        """The guaranteed epsilon; None if nothing is guaranteed."""
        return self.guarantee.epsilon if isinstance(self.guarantee, Guarantee) else None

    @property
    def broken(self) -> bool:
        """Whether the leak proves more than the guarantee allows: a bug in one of the two."""
        return (
            isinstance(self.guarantee, Guarantee) and self.leak.bound is not None and self.leak.exceeds(self.guarantee)
        )

    @property
    def leaks(self) -> bool:
        """Whether a label is certain, or the advantage is statistically significant."""
        return self.certain > 0 or self.leak.advantage_interval.low > 0

    @property
    def state(self) -> State:
        """The state of the release."""
        if self.broken:
            return State.REFUTED
        if not self.leaks:
            return State.QUIET
        return State.OPEN if self.epsilon is None else State.WITHIN

    @property
    def baseline_interval(self) -> Interval:
        """The interval of the rate without the release; without width if it is exact, such as chance."""
        leak, level = self.leak, self.leak.interval.level
        if leak.baseline_right is None or leak.baseline_trials is None:
            return Interval(low=leak.baseline, high=leak.baseline, level=level)
        return clopper_pearson(leak.baseline_right, leak.baseline_trials, level=level)

    def to_json(self) -> dict[str, Any]:
        """Return the finding as plain JSON, with what follows from it."""
        plain = {name: getattr(self, name) for name in _PLAIN}
        parts = {name: getattr(self, name).to_json() for name in ("guarantee", "leak", "utility")}
        follows: dict[str, Any] = {"advice": self.advice, "broken": self.broken, "state": self.state.value}
        follows["baseline_interval"] = self.baseline_interval.to_json()
        return {**plain, **parts, **follows, "commands": [*self.commands]}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Finding:
        """Read back what :meth:`to_json` wrote."""
        try:
            return cls(
                **{name: document[name] for name in _PLAIN},
                commands=tuple(document["commands"]),
                guarantee=guarantee_from_json(document["guarantee"]),
                leak=Leak.from_json(document["leak"]),
                utility=Utility.from_json(document["utility"]),
            )
        except KeyError as missing:
            raise InvalidInput(f"a finding must have its {missing.args[0]}") from None


_PLAIN = ("surface", "data", "setting", "told", "remedy", "seconds", "certain", "command")
