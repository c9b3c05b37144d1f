"""One planned release: guarantee, leak, utility and advice."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit.audit.answer import ODDS_LIMIT, Permission, State, most_exposed, state_of
from tacit.audit.reason import reason_by_odds
from tacit.audit.utility import Utility
from tacit.audit.words import proved
from tacit.leak import Interval, Leak, OddsChange, clopper_pearson
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import AnyGuarantee, Guarantee, guarantee_from_json

__all__ = ["Finding"]

_ABOUT_LABELS = ("labels", "bags", "scores")  # what an attacker guesses there is a label


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One release that was planned, made and attacked.

    Parameters
    ----------
    data, setting
        The data set, and what is released from it, in words.
    column, rows
        The private column, and the number of rows of the table.
    certain
        How many labels the release determines.
    told, remedy
        What the release reveals, and what to do; together they are one sentence.
    seconds
        The duration of one release and attack.
    limit
        The limit on the change of odds; set by the run.
    command
        The command that measures it again; set by the run.
    commands
        What makes this release of the same rows, learns from it and attacks it, without the audit; set by the run, and
        empty where there is no file.
    """

    surface: str
    data: str
    column: str
    rows: int
    setting: str
    guarantee: AnyGuarantee
    leak: Leak
    utility: Utility
    told: str
    remedy: str
    seconds: float
    certain: int = 0
    limit: float = ODDS_LIMIT
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
    def state(self) -> State:
        """What decides whether the release may be handed out."""
        if self.broken:
            return State.VIOLATED
        if self.certain:
            return State.DETERMINED
        return state_of(self.leak.changes, self.guarantee, rows=self.rows, limit=self.limit)

    @property
    def answer(self) -> Permission:
        """Whether the release may be handed out."""
        return self.state.answer

    @property
    def reason(self) -> str:
        """Why it may be handed out or not, one sentence."""
        if self.state is State.VIOLATED:
            bound = proved(self.leak.epsilon_lower_bound)
            return f"The guarantee is {self.guarantee}, but the attack shows that epsilon is {bound}."
        if self.state is State.DETERMINED:
            return f"{self.certain:,} label{'s are' if self.certain > 1 else ' is'} determined for certain."
        change = most_exposed(self.leak.changes, limit=self.limit)
        about = "" if change is None else self.suspected(change)
        return reason_by_odds(self.state, change, suspected=about, guarantee=self.guarantee, limit=self.limit)

    def suspected(self, change: OddsChange) -> str:
        """Return what a flagged person is suspected of: a label of the private column, or what the attack names."""
        return f"{self.column} = {change.name}" if self.surface in _ABOUT_LABELS else change.name

    @property
    def exposed(self) -> float:
        """The change of odds that the attack shows at least, of the class that is worst off."""
        return max((change.odds_interval.low for change in self.leak.changes), default=0.0)

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
        follows: dict[str, Any] = {"answer": self.answer.value, "reason": self.reason, "advice": self.advice}
        follows |= {"broken": self.broken, "state": self.state.value, "disclosure": self.disclosure()}
        follows["changes"] = [_plain_change(change) for change in self.leak.changes]
        follows["baseline_interval"] = self.baseline_interval.to_json()
        return {**plain, **parts, **follows, "commands": [*self.commands]}

    def disclosure(self) -> dict[str, Any]:
        """Return the release's entry of a registry of disclosures."""
        held = self.guarantee if isinstance(self.guarantee, Guarantee) else None
        return {
            "surface": self.surface,
            "column": self.column,
            "mechanism": self.setting,
            "unit": None if held is None else held.protects,
            "epsilon": self.epsilon,
            "delta": None if held is None else held.delta,
            "public": [] if held is None else [*held.assumptions],
        }

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


_PLAIN = (
    "surface",
    "data",
    "column",
    "rows",
    "setting",
    "told",
    "remedy",
    "seconds",
    "certain",
    "limit",
    "command",
)


def _plain_change(change: OddsChange) -> dict[str, Any]:
    plain: dict[str, Any] = {"class": change.name, "share": change.share}
    for name in ("suspicion", "odds", "advantage"):
        interval = getattr(change, f"{name}_interval").to_json()
        plain[name] = _finite(getattr(change, name))
        plain[f"{name}_interval"] = {end: _finite(value) for end, value in interval.items()}
    return plain


def _finite(number: float) -> float | None:
    """Return a number that JSON has; None for infinity."""
    return number if math.isfinite(number) else None
