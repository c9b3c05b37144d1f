"""A competition's rules: the plan of each team's scores, the split of the rows, and the final ranking."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_bounds, exact, round_up
from tacit.privacy.settings import BOUND, about, settings_of, settle, to_plain
from tacit.privacy.words import counted
from tacit.scores.metrics import F1, Accuracy, Auc, Brier, CustomMetric, LogLoss, Mae, Metric, Rmse
from tacit.scores.plan import Plan
from tacit.scores.policies import Bounded, Exact, Ladder, Laplace, Policy, Rounded, Thresholdout

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["CompetitionPlan", "Rules"]

_AT_LEAST_ONE: Mapping[str, Any] = {"rule": "an integer >= 1", "holds": lambda count: count >= 1}


def _reworded(name: str, help: str) -> Mapping[str, Any]:
    """Return the metadata of the plan's field with another sentence of help."""
    return {**Plan.__dataclass_fields__[name].metadata, "help": help}


@dataclass(frozen=True, kw_only=True)
class CompetitionPlan(Plan):
    """The scores of one team; the defaults are those that docs/scores_results.md measures.

    Unit: one row's label. A metric may also be one that the server's operator wrote.
    """

    label: str = field(default="label", metadata=_reworded("label", "The private column of the truth."))
    epsilon: float | None = field(
        default=20.0,
        metadata=_reworded("epsilon", "The epsilon of all live scores of one team together; none: no guarantee."),
    )
    metric: LogLoss | Brier | Accuracy | Auc | F1 | Rmse | Mae | CustomMetric = field(  # type: ignore[assignment]
        default=LogLoss(), metadata=_reworded("metric", "What a submission is scored by.")
    )
    submissions: int = field(default=100, metadata=_reworded("submissions", "Submissions of a team, in all."))

    def check(self) -> None:
        """Raise if two fields do not fit each other, or one asks for what a competition does not do."""
        super().check()
        if self.person is not None or self.rows_per_person != 1:
            raise InvalidInput("has no use in a competition: every row is scored", field="person")


@dataclass(frozen=True, kw_only=True)
class Rules:
    """All that decides what is released from a competition; the defaults are measured in docs/scores_results.md.

    Parameters
    ----------
    plan
        The live scores of one team.
    public_fraction
        The share of rows behind the live scores. A row is public if the keyed hash of its id is below the share: the
        split is determined by the host's key, knows no label, and a row's part does not depend on the other rows. The
        other rows are for the final ranking, made once, from one score for each team's last submission; with 1 the
        leaderboard is final.

    Examples
    --------
    >>> for sentence in Rules(plan=CompetitionPlan()).describe():
    ...     print(sentence)
    Submissions are scored by log loss; lower is better.
    Scores carry noise: each is differentially private for one label with epsilon 0.2.
    A team may make 100 submissions, 10 per day.
    These scores use about 30% of the rows: they are feedback for the team.
    The ranking that counts is made once, at the end, on the other 70%: one score for each team's last submission.
    That final score carries noise with epsilon 5.
    """

    plan: CompetitionPlan = field(metadata=BOUND)
    per_day: int | None = field(
        default=10, metadata=about("Submissions per day of a team; none: no limit.", **_AT_LEAST_ONE)
    )
    public_fraction: float = field(
        default=0.3,
        metadata=about(
            "Share of rows behind the live scores; the others decide the final ranking, released once. 1: all rows, "
            "and the leaderboard is final.",
            rule="in (0, 1]",
            holds=lambda share: 0 < share <= 1,
        ),
    )
    final: Laplace | Thresholdout | Ladder | Rounded | Bounded | Exact = field(
        default=Laplace(), metadata=about("How each team's one final score is released.")
    )
    final_epsilon: float | None = field(
        default=5.0,
        metadata=about(
            "The guarantee for one final score; none: no guarantee.",
            metavar="NUMBER|none",
            rule="a finite number > 0, or none",
            holds=lambda epsilon: 0 < epsilon < float("inf"),
        ),
    )
    teams: int = field(
        default=20, metadata=about("How many teams may join; the ledger keeps epsilon for that many.", **_AT_LEAST_ONE)
    )

    def __post_init__(self) -> None:
        settle(self)
        check_bounds(self.final_epsilon, 0.0, name="final_epsilon")
        _ = self.final_policy

    @cached_property
    def policy(self) -> Policy:
        """How a live score is answered."""
        return self.plan.bound_policy

    @cached_property
    def final_policy(self) -> Policy:
        """How a final score is answered."""
        try:
            return self.final.sharing(self.final_epsilon, submissions=1)
        except InvalidInput as error:
            raise InvalidInput(error.worded("").strip(), field="final_epsilon") from None

    @property
    def is_split(self) -> bool:
        """Whether rows are kept for the final ranking."""
        return self.public_fraction < 1

    def refusal(self, *, used: int, used_today: int) -> str | None:
        """Return why a team's next submission is rejected, or None."""
        if used >= self.plan.submissions:
            return f"all {self.plan.submissions} submissions of this team are used"
        if self.per_day is not None and used_today >= self.per_day:
            left = self.plan.submissions - used
            return f"today {used_today} of {self.per_day} submissions are used; {left} are left from tomorrow on"
        return None

    def public_rows(self, row_ids: Iterable[object], *, key: bytes) -> NDArray[np.bool_]:
        """Return which rows are public, by their ids, read as text, and the competition's secret."""
        import numpy as np

        limit = int(self.public_fraction * 2**64)
        hashes = (hmac.digest(key, str(row).encode(), "sha256")[:8] for row in row_ids)
        public = np.array([int.from_bytes(value, "big") < limit for value in hashes], dtype=np.bool_)
        if public.size and (not public.any() or (self.is_split and public.all())):
            raise InvalidInput(
                f"must be 1 or leave rows in both parts, got {self.public_fraction!r} for {public.size} rows",
                field="public_fraction",
            )
        return public

    def check(self, metric: Metric, *, public: int, private: int) -> None:
        """Raise if a policy cannot keep its guarantee with the metric on this many rows."""
        self.policy.check(metric, rows=public)
        if private:
            self.final_policy.check(metric, rows=private)

    def without_limit(self, submissions: int) -> Rules:
        """Return the rules under which a team gets so many of the same scores, on any day."""
        from tacit.privacy.guarantee import Guarantee

        one = self.policy.guarantee()
        scores = self.policy.scores_charged(submissions)
        epsilon = round_up(scores * exact(one.epsilon)) if isinstance(one, Guarantee) else None
        return replace(self, plan=replace(self.plan, submissions=submissions, epsilon=epsilon), per_day=None)

    def describe(self) -> tuple[str, ...]:
        """Return the rules, one plain sentence each."""
        made, metric = self.plan.submissions, self.plan.metric
        per_day = "" if self.per_day is None or self.per_day >= made else f", {self.per_day} per day"
        rules = (
            f"Submissions are scored by {metric.title}; {'lower' if metric.lower_is_better else 'higher'} is better.",
            self.policy.describe(),
            f"A team may make {counted(made, 'submission')}{per_day}.",
        )
        if not self.is_split:
            return rules
        return (
            *rules,
            f"These scores use about {self.public_fraction:.0%} of the rows: they are feedback for the team.",
            f"The ranking that counts is made once, at the end, on the other {1 - self.public_fraction:.0%}: one score "
            "for each team's last submission.",
            self.final_policy.describe_final(),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the rules as plain JSON."""
        settings = {one.name: to_plain(getattr(self, one.name)) for one in settings_of(Rules)}
        return {"plan": self.plan.to_json(), **settings}

    @classmethod
    def from_json(cls, document: Mapping[str, Any], *, custom: Iterable[CustomMetric] = ()) -> Rules:
        """Read rules; what is left out is the default, and an unknown key is an error.

        Parameters
        ----------
        custom
            The operator's own metrics: a function never comes from a document.
        """
        known = ["plan", *(one.name for one in settings_of(cls))]
        if unknown := set(document) - set(known):
            raise InvalidInput(f"rules take {', '.join(known)}, got {', '.join(sorted(map(str, unknown)))}")
        plan = dict(document.get("plan", {}))
        if "metric" in plan:
            written = plan["metric"]
            plan["metric"] = next((one for one in custom if written in (str(one), one.to_json())), written)
        return cls(**{**document, "plan": CompetitionPlan.from_json(plan)})
