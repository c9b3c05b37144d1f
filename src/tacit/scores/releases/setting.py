"""A competition's rules as one value: metric, policy, budget and split."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count, format_up
from tacit.scores.metrics import Metric, Own, metric_from_json
from tacit.scores.policies import Answer, Laplace, Policy, State, policy_from_json

__all__ = ["Budget", "Setting", "Split", "complete_setting", "default_setting", "identify"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How many submissions a team may make, in all and in a day.

    Parameters
    ----------
    per_team
        In all.
    per_day
        In one day of the competition's clock; None: as many as are left.

    Examples
    --------
    >>> budget = Budget(per_team=100, per_day=10)
    >>> budget.refusal(used=40, used_today=10)
    'today 10 of 10 submissions are used; 60 are left from tomorrow on'
    >>> budget.left(used=99, used_today=0)
    1
    """

    per_team: int = 100
    per_day: int | None = 10

    def __post_init__(self) -> None:
        check_count(self.per_team, name="per_team")
        if self.per_day is not None:
            check_count(self.per_day, name="per_day")

    def left(self, *, used: int, used_today: int) -> int:
        """Return how many submissions may still be made today."""
        today = self.per_team if self.per_day is None else self.per_day
        return max(0, min(self.per_team - used, today - used_today))

    def refusal(self, *, used: int, used_today: int) -> str | None:
        """Return why another submission is refused, or None."""
        if used >= self.per_team:
            return f"all {self.per_team} submissions of this team are used"
        if self.left(used=used, used_today=used_today) == 0:
            left = self.per_team - used
            return f"today {used_today} of {self.per_day} submissions are used; {left} are left from tomorrow on"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Which rows the public scores use; the others are kept for the final ranking.

    A row is public if the keyed hash of its id is below the fraction: the split is fixed by the host's key, knows no
    label, and a row's part does not depend on the other rows.

    Parameters
    ----------
    public_fraction
        Share of rows behind the scores shown during the competition; 1: no private part.

    Examples
    --------
    >>> public = Split(public_fraction=0.3).public_rows(range(10_000), key=b"host's secret")
    >>> public[:3], round(public.mean(), 2)
    (array([False,  True, False]), np.float64(0.3))
    """

    public_fraction: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.public_fraction <= 1:
            raise InvalidInput(f"must be in (0, 1], got {self.public_fraction!r}", field="public_fraction")

    def public_rows(self, row_ids: Iterable[object], *, key: bytes) -> NDArray[np.bool_]:
        """Return which rows are public.

        Parameters
        ----------
        row_ids
            One a row, read as text.
        key
            The competition's secret.
        """
        limit = int(self.public_fraction * 2**64)
        hashes = (hmac.digest(key, str(row).encode(), "sha256")[:8] for row in row_ids)
        public = np.array([int.from_bytes(value, "big") < limit for value in hashes], dtype=np.bool_)
        if public.size and (not public.any() or (self.public_fraction < 1 and public.all())):
            raise InvalidInput(
                f"must be 1 or leave rows in both parts, got {self.public_fraction!r} for {public.size} rows",
                field="public_fraction",
            )
        return public


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """All that decides what leaves a competition.

    Parameters
    ----------
    metric, policy, budget, split
        Its parts.
    final_policy
        How each team's one score on the private rows is released when the competition ends; default: the policy. Where
        there is no private part, no final score is released.

    Examples
    --------
    >>> from tacit.scores.metrics import Accuracy
    >>> setting = Setting(metric=Accuracy(), policy=Laplace(epsilon=0.1))
    >>> labels, rng = np.zeros(1000, dtype=int), np.random.default_rng(0)
    >>> answer = setting.answer(labels, np.zeros(1000), state={}, rng=rng)
    >>> answer.released, str(answer.charge)
    (0.98363, 'epsilon 0.1 for one label')
    """

    metric: Metric
    policy: Policy = field(default_factory=Laplace)
    budget: Budget = field(default_factory=Budget)
    split: Split = field(default_factory=Split)
    final_policy: Policy | None = None

    def check(self, *, rows: int) -> None:
        """Raise where a policy cannot meet its guarantee with the metric."""
        self.policy.check(self.metric, rows=rows)
        (self.final_policy or self.policy).check(self.metric, rows=rows)

    def answer(
        self,
        labels: ArrayLike,
        predictions: ArrayLike,
        *,
        state: State,
        rng: np.random.Generator,
        public: NDArray[np.bool_] | None = None,
        remembered: Answer | None = None,
    ) -> Answer:
        """Return what leaves for one submission: scored on the public rows.

        Parameters
        ----------
        labels, predictions
            Of all rows.
        state
            What the team's last :class:`Answer` left (``answer.state``), and ``{}`` for its first submission alone. The
            policy has no memory of its own: with ``{}`` each time the Ladder shows every score, rounded, instead of
            the best so far, and Thresholdout begins anew and is charged for each. Laplace, Rounded and Exact keep
            nothing.
        rng
            :func:`tacit.privacy.noise.system_rng` on a server.
        public
            The public rows; default: all.
        remembered
            The competition's earlier answer to a submission of the same :func:`identify`, whichever team made it: it
            is given again and costs nothing, so that noise cannot be averaged away.
        """
        if remembered is not None:
            return Answer(released=remembered.released, text=remembered.text, charge=None, state=dict(state))
        truth, given = self._part(labels, predictions, public)
        return self.policy.release(self.metric.measure(truth, given), state=state, rng=rng)

    def final(
        self, labels: ArrayLike, predictions: ArrayLike, *, public: NDArray[np.bool_], rng: np.random.Generator
    ) -> Answer:
        """Return one team's final score, on the private rows.

        Its charge falls on the private rows' labels alone, which no earlier score has seen: the labels of the two parts
        are disjoint, so that a label pays for one of the two.
        """
        truth, given = self._part(labels, predictions, ~public)
        policy = self.final_policy or self.policy
        return policy.release(self.metric.measure(truth, given), state={}, rng=rng)

    def describe(self) -> tuple[str, ...]:
        """Return the rules, one plain sentence each."""
        order = "lower" if self.metric.lower_is_better else "higher"
        per_team, per_day = self.budget.per_team, self.budget.per_day
        a_day = "" if per_day is None or per_day >= per_team else f", {per_day} a day"
        rules = [
            f"Submissions are scored by {self.metric.title}; {order} is better.",
            self.policy.describe(),
            f"A team may make {per_team} submissions{a_day}.",
        ]
        return (*rules, *self._describe_split()) if self.split.public_fraction < 1 else tuple(rules)

    def _describe_split(self) -> tuple[str, ...]:
        public = self.split.public_fraction
        told = (
            f"These scores use about {public:.0%} of the rows: they are for a team's own bearings.",
            f"The ranking that counts is made once, at the end, on the other {1 - public:.0%}: one score for each "
            "team's last submission.",
        )
        if isinstance(self.final_policy, Laplace):
            return (*told, f"That final score carries noise with epsilon {format_up(self.final_policy.epsilon)}.")
        return told if self.final_policy is None else (*told, f"For that final score: {self.final_policy.describe()}")

    def to_json(self) -> dict[str, Any]:
        """Return the rules as plain JSON."""
        return {
            "metric": self.metric.to_document(),
            "policy": self.policy.to_document(),
            "budget": asdict(self.budget),
            "split": asdict(self.split),
            "final_policy": None if self.final_policy is None else self.final_policy.to_document(),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any], *, own: Mapping[str, Own] | None = None) -> Setting:
        """Read rules back; an unknown key is an error."""
        _only(document, {"metric", "policy", "budget", "split", "final_policy"}, name="setting")
        if "metric" not in document:
            raise InvalidInput("setting must have a metric, got none")
        parts: dict[str, Any] = {"metric": metric_from_json(document["metric"], own=own)}
        for key in ("policy", "final_policy"):
            if document.get(key) is not None:
                parts[key] = policy_from_json(document[key])
        if "budget" in document:
            parts["budget"] = Budget(**_only(document["budget"], {"per_team", "per_day"}, name="budget"))
        if "split" in document:
            parts["split"] = Split(**_only(document["split"], {"public_fraction"}, name="split"))
        return cls(**parts)

    def _part(
        self, labels: ArrayLike, predictions: ArrayLike, rows: NDArray[np.bool_] | None
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        truth = np.asarray(labels)
        given = self.metric.check(predictions, rows=len(truth))
        return (truth, given) if rows is None else (truth[rows], given[rows])


def default_setting(metric: Metric) -> Setting:
    """Return the rules a host gets who chooses none, measured in docs/scores_protect.md.

    A team has 100 submissions, 10 a day. Scores during the competition use about 30% of the rows and carry Laplace
    noise of epsilon 0.2 each; they are for the team's own bearings. The ranking that counts is made once, from one
    score a team on the other rows, with epsilon 5.

    Examples
    --------
    >>> from tacit.scores.metrics import LogLoss
    >>> for sentence in default_setting(LogLoss()).describe():
    ...     print(sentence)
    Submissions are scored by log loss; lower is better.
    Scores carry noise: each is differentially private for one label with epsilon 0.2.
    A team may make 100 submissions, 10 a day.
    These scores use about 30% of the rows: they are for a team's own bearings.
    The ranking that counts is made once, at the end, on the other 70%: one score for each team's last submission.
    That final score carries noise with epsilon 5.
    """
    return Setting(
        metric=metric,
        policy=Laplace(epsilon=0.2),
        budget=Budget(per_team=100, per_day=10),
        split=Split(public_fraction=0.3),
        final_policy=Laplace(epsilon=5.0),
    )


def complete_setting(document: Mapping[str, Any], *, own: Mapping[str, Own] | None = None) -> Setting:
    """Read rules of which a host laid down a part; what is left out is :func:`default_setting`'s.

    Parameters
    ----------
    document
        As :meth:`Setting.to_json` writes it; all but the metric may be left out.
    own
        The operator's own metrics by name.

    Examples
    --------
    >>> from tacit.scores.metrics import Accuracy
    >>> complete_setting({"metric": {"metric": "accuracy"}}) == default_setting(Accuracy())
    True
    >>> complete_setting({"metric": {"metric": "accuracy"}, "split": {"public_fraction": 0.5}}).policy.epsilon
    0.2
    """
    given = Setting.from_json(document, own=own)
    return Setting.from_json({**default_setting(given.metric).to_json(), **document}, own=own)


def identify(predictions: ArrayLike, metric: Metric, *, rows: int) -> str:
    """Return what makes two submissions the same: the SHA-256 of their canonical bytes.

    Canonical: as the metric reads them (:meth:`Metric.check`), 64-bit floats, little-endian, row by row, -0.0 as 0.0,
    after the metric's name and the shape. File names, column order, number formats and white space do not count; a
    prediction that differs in its last bit does, and is scored and charged anew.

    Examples
    --------
    >>> from tacit.scores.metrics import Accuracy
    >>> identify([0, 1], Accuracy(), rows=2) == identify([-0.0, 1.0], Accuracy(), rows=2)
    True
    """
    given = metric.check(predictions, rows=rows)
    head = f"{metric.name} {given.shape}\n".encode()
    return hashlib.sha256(head + np.ascontiguousarray(given, dtype="<f8").tobytes()).hexdigest()


def _only(document: Mapping[str, Any], allowed: set[str], *, name: str) -> dict[str, Any]:
    if unknown := set(document) - allowed:
        raise InvalidInput(f"{name} takes {', '.join(sorted(allowed))}, got {', '.join(sorted(map(str, unknown)))}")
    return dict(document)
