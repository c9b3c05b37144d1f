"""A competition's rules as one value: what is scored, how it is answered, and how often a team may ask."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count
from tacit.privacy.settings import read_choice, read_value
from tacit.privacy.words import split_words
from tacit.scores.metrics import F1, Accuracy, Auc, Brier, CustomMetric, LogLoss, Mae, Metric, Rmse
from tacit.scores.policies import Bounded, Exact, Ladder, Laplace, Policy, Rounded, Thresholdout

__all__ = ["Rules"]

_METRICS = LogLoss | Brier | Accuracy | Auc | F1 | Rmse | Mae
_POLICIES = Laplace | Thresholdout | Ladder | Rounded | Bounded | Exact
_BOUND: Mapping[str, type] = {"classes": int, "epsilon": float}
"""What a plan would bind: here the host writes it, ``epsilon`` for one score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """All that decides what is released from a competition; the defaults are measured in docs/scores_results.md.

    Parameters
    ----------
    metric, policy
        What a submission is scored by, and how a score is answered.
    per_team, per_day
        How many submissions a team may make, in all and in one day of the server's clock; None: as many as are left.
    public_fraction
        The share of rows behind the live scores. A row is public if the keyed hash of its id is below the share: the
        split is determined by the host's key, knows no label, and a row's part does not depend on the other rows. The
        other rows are for the final ranking, made once, from one score for each team's last submission; with 1 the
        leaderboard is final.
    final
        How that one score is answered; None: as the others.

    Examples
    --------
    >>> for sentence in Rules(metric=LogLoss()).describe():
    ...     print(sentence)
    Submissions are scored by log loss; lower is better.
    Scores carry noise: each is differentially private for one label with epsilon 0.2.
    A team may make 100 submissions, 10 per day.
    These scores use about 30% of the rows: they are feedback for the team.
    The ranking that counts is made once, at the end, on the other 70%: one score for each team's last submission.
    That final score carries noise with epsilon 5.
    """

    metric: Metric
    policy: Policy = field(default_factory=lambda: Laplace(epsilon=0.2))
    per_team: int = 100
    per_day: int | None = 10
    public_fraction: float = 0.3
    final: Policy | None = field(default_factory=lambda: Laplace(epsilon=5.0))

    def __post_init__(self) -> None:
        check_count(self.per_team, name="per_team")
        if self.per_day is not None:
            check_count(self.per_day, name="per_day")
        if not 0 < self.public_fraction <= 1:
            raise InvalidInput(f"must be in (0, 1], got {self.public_fraction!r}", field="public_fraction")

    @property
    def final_policy(self) -> Policy:
        """How a final score is answered."""
        return self.final or self.policy

    @property
    def is_split(self) -> bool:
        """Whether rows are kept for the final ranking."""
        return self.public_fraction < 1

    def refusal(self, *, used: int, used_today: int) -> str | None:
        """Return why a team's next submission is rejected, or None."""
        if used >= self.per_team:
            return f"all {self.per_team} submissions of this team are used"
        if self.per_day is not None and used_today >= self.per_day:
            left = self.per_team - used
            return f"today {used_today} of {self.per_day} submissions are used; {left} are left from tomorrow on"
        return None

    def public_rows(self, row_ids: Iterable[object], *, key: bytes) -> NDArray[np.bool_]:
        """Return which rows are public, by their ids, read as text, and the competition's secret."""
        limit = int(self.public_fraction * 2**64)
        hashes = (hmac.digest(key, str(row).encode(), "sha256")[:8] for row in row_ids)
        public = np.array([int.from_bytes(value, "big") < limit for value in hashes], dtype=np.bool_)
        if public.size and (not public.any() or (self.is_split and public.all())):
            raise InvalidInput(
                f"must be 1 or leave rows in both parts, got {self.public_fraction!r} for {public.size} rows",
                field="public_fraction",
            )
        return public

    def check(self, *, public: int, private: int) -> None:
        """Raise if a policy cannot keep its guarantee with the metric on this many rows."""
        self.policy.check(self.metric, rows=public)
        if private:
            self.final_policy.check(self.metric, rows=private)

    def describe(self) -> tuple[str, ...]:
        """Return the rules, one plain sentence each."""
        order = "lower" if self.metric.lower_is_better else "higher"
        per_day = "" if self.per_day is None or self.per_day >= self.per_team else f", {self.per_day} per day"
        rules = (
            f"Submissions are scored by {self.metric.title}; {order} is better.",
            self.policy.describe(),
            f"A team may make {self.per_team} submissions{per_day}.",
        )
        if not self.is_split:
            return rules
        split = (
            f"These scores use about {self.public_fraction:.0%} of the rows: they are feedback for the team.",
            f"The ranking that counts is made once, at the end, on the other {1 - self.public_fraction:.0%}: one score "
            "for each team's last submission.",
        )
        return (*rules, *split, *(() if self.final is None else (self.final.describe_final(),)))

    def to_json(self) -> dict[str, Any]:
        """Return the rules as plain JSON."""
        own = isinstance(self.metric, CustomMetric)
        return {
            "metric": {"name": "own", "metric": self.metric.name} if own else _to_json(self.metric),
            "policy": _to_json(self.policy),
            **{name: getattr(self, name) for name in ("per_team", "per_day", "public_fraction")},
            "final": None if self.final is None else _to_json(self.final),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any], *, own: Mapping[str, CustomMetric] | None = None) -> Rules:
        """Read rules; what is left out, all but the metric, is the default, and an unknown key is an error.

        Parameters
        ----------
        document
            Metric and policies as :meth:`to_json` writes them, or as ``NAME[:KEY=VALUE,...]``.
        own
            The operator's own metrics by name: a function never comes from a document.
        """
        known = {spec.name for spec in fields(cls)}
        if unknown := set(document) - known:
            raise InvalidInput(f"rules take {', '.join(sorted(known))}, got {', '.join(sorted(map(str, unknown)))}")
        if "metric" not in document:
            raise InvalidInput("rules must have a metric, got none")
        given = dict(document)
        given["metric"] = _read_metric(given["metric"], own=own or {})
        for name in ("policy", "final"):
            if given.get(name) is not None:
                given[name] = _read(_POLICIES, given[name], field=name)
        return cls(**given)


def _to_json(choice: Metric | Policy) -> dict[str, Any]:
    written = (spec.name for spec in fields(choice) if spec.init)  # type: ignore[arg-type]
    return {"name": choice.name, **{name: getattr(choice, name) for name in written}}


def _read_metric(value: object, *, own: Mapping[str, CustomMetric]) -> Metric:
    given = _parts(value)
    if given.get("name") != "own":
        metric: Metric = _read(_METRICS, given, field="metric")
        return metric
    name = str(given.get("metric"))
    if name not in own:
        raise InvalidInput(f"must be one of the server's own metrics {sorted(own)}, got {name!r}", field="metric")
    return own[name]


def _read(kind: Any, value: object, *, field: str) -> Any:  # noqa: ANN401
    """Return a metric or a policy with what a plan would bind."""
    given = _parts(value)
    bound = {name: read_value(_BOUND[name], given.pop(name), field=name) for name in _BOUND if name in given}
    choice = read_choice(kind, given, field=field)
    if unknown := bound.keys() - {spec.name for spec in fields(choice) if spec.init}:
        raise InvalidInput(f"{choice.name} takes no {', '.join(sorted(unknown))}", field=field)
    return replace(choice, **bound)


def _parts(value: object) -> dict[str, Any]:
    """Return the name and the parameters of a metric or policy as it is written."""
    if isinstance(value, Mapping):
        return {str(key): one for key, one in value.items()}
    name, _, rest = str(value).partition(":")
    pairs = [pair.partition("=") for pair in split_words(rest)]
    return {"name": name.strip(), **{key.strip(): given.strip() for key, _, given in pairs}}
