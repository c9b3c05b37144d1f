"""A competition's rules: the plan of each team's scores, the split of the rows, and the final ranking."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

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

_EPSILON = 20.0
"""Of all live scores of one team, where a host chooses noise and says no more."""

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
        default=None,
        metadata=_reworded(
            "epsilon", "The epsilon of all live scores of one team together, for policies with noise (20 if left out)."
        ),
    )
    metric: LogLoss | Brier | Accuracy | Auc | F1 | Rmse | Mae | CustomMetric = field(  # type: ignore[assignment]
        default=LogLoss(), metadata=_reworded("metric", "What a submission is scored by.")
    )
    policy: Laplace | Thresholdout | Ladder | Rounded | Bounded | Exact = field(
        default=Rounded(),
        metadata=_reworded(
            "policy", "How a live score is answered: rounded or exact with --together, else laplace if left out."
        ),
    )
    submissions: int = field(default=100, metadata=_reworded("submissions", "Submissions per team, in total."))

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
    Scores are shown rounded to 3 decimals.
    A team may make 100 submissions, 10 per day.
    These scores use about 30% of the rows: they are feedback for the team.
    The ranking that counts is made once, at the end, on the other 70%: one score for each team's last or chosen one.
    That final score carries noise with epsilon 5.
    """

    plan: CompetitionPlan = field(metadata=BOUND)
    per_day: int | None = field(
        default=10, metadata=about("Submissions per day and team; none: no limit.", **_AT_LEAST_ONE)
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
        default=10, metadata=about("How many teams may join; the ledger reserves epsilon for so many.", **_AT_LEAST_ONE)
    )
    together: float | None = field(
        default=10.0,
        metadata=about(
            "Percentage points of balanced advantage over the features that all teams together may gain from the live "
            "scores, and again from the final ones: the teams share a few answers, and other submissions are kept for "
            "the end. none: no such limit.",
            metavar="POINTS|none",
            rule="a number above 0 and below 100, or none",
            holds=lambda points: 0 < points < 100,
        ),
    )
    rarest: float = field(
        default=0.2,
        metadata=about(
            "With --together: a lower bound on the share of rows of every class; a rare class allows fewer answers.",
            rule="in (0, 0.5]",
            holds=lambda share: 0 < share <= 0.5,
        ),
    )
    live: Literal["kept", "spent"] = field(
        default="kept",
        metadata=about(
            "With --together: spent answers every submission, which reveals the labels behind the live scores, and "
            "protects only the other rows."
        ),
    )

    def __post_init__(self) -> None:
        settle(self)
        check_bounds(self.final_epsilon, 0.0, name="final_epsilon")
        _ = self.final_policy
        self._check_together()

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

    def answers_each(self, metric: Metric, *, rows: int) -> int | None:
        """Return how many live scores each team gets where all share those on so many rows; None: no such limit."""
        from tacit.server.coalition import answers_within

        if self.together is None or self.live == "spent":
            return None
        found = answers_within(self.together, metric, self.policy, rows=rows, rarest=self.rarest)
        return min(found // self.teams, self.plan.submissions)

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
        if self.together is not None:
            self._check_final(metric, rows=private)

    def check_classes(self, parts: Iterable[NDArray[Any]]) -> None:
        """Raise if a class that occurs is rarer than declared in one part of the labels."""
        import numpy as np

        if self.together is None:
            return
        for codes in parts:
            counts = np.unique(codes, return_counts=True)[1]
            if counts.min() < self.rarest * len(codes) or len(counts) < 2:
                raise InvalidInput(
                    f"must be at most the share of the rarest class in each part of the rows, which is below "
                    f"{self.rarest:g}; a smaller one gives fewer answers",
                    field="rarest",
                )

    def without_limit(self, submissions: int) -> Rules:
        """Return the rules under which a team gets so many of the same scores, on any day."""
        from tacit.privacy.guarantee import Guarantee

        one = self.policy.guarantee()
        scores = self.policy.scores_charged(submissions)
        epsilon = round_up(scores * exact(one.epsilon)) if isinstance(one, Guarantee) else None
        return replace(self, plan=replace(self.plan, submissions=submissions, epsilon=epsilon), per_day=None)

    def _check_together(self) -> None:
        """Raise where a limit for all teams together does not fit the other rules."""
        if self.together is None:
            if self.live == "spent":
                raise InvalidInput("must be given where live rows are spent: it protects the others", field="together")
            return
        if not self.plan.metric.classes:
            raise InvalidInput(
                f"must be none for labels that are no classes ({self.plan.metric.title}); noise protects them "
                "then, with an epsilon for each team",
                field="together",
            )
        if not self.is_split:
            raise InvalidInput(
                "must be below 1 with together, to leave rows for the final ranking; or together must be none",
                field="public_fraction",
            )
        if self.policy.error is None:
            raise InvalidInput(
                f"must be exact or rounded with together, got {self.policy.name}: few exact answers rank better than "
                "many noisy ones; or together must be none",
                field="policy",
            )

    def _check_final(self, metric: Metric, *, rows: int) -> None:
        """Raise if one final score for each team is more than all together may learn."""
        from tacit.server.coalition import answers_within

        assert self.together is not None
        most = answers_within(self.together, metric, self.final_policy, rows=rows, rarest=self.rarest)
        if self.teams > most:
            raise InvalidInput(
                f"must be at most {most} with together: the final scores of more teams on {rows:,} rows are expected "
                f"to give more than {self.together:g} points, got {self.teams}; or together must be larger, or none",
                field="teams",
            )

    def describe_answers(self, answers: int | None) -> tuple[str, ...]:
        """Return what all teams together may learn, where that is limited, by the live scores of each team."""
        if self.together is None:
            return ()
        final = (
            f"All final scores together are expected to give whoever sees them at most {self.together:g} points of "
            f"balanced advantage over the features, where no class has less than {self.rarest:.3g} of the rows."
        )
        if self.live == "spent":
            given = "The labels behind the live scores are revealed; only those behind the final ranking are protected."
            return given, final
        kept = "Other submissions are kept, and each team's last one is scored at the end."
        if not answers:
            return f"There are no live scores: {self.teams} teams together would learn too much. {kept}", final
        each = f"{counted(answers, 'live score')}, {answers * self.teams:,} in all"
        return f"A team gets {each}: together they give at most as many points as the final ones. {kept}", final

    def describe(self) -> tuple[str, ...]:
        """Return the rules, one plain sentence each."""
        made, metric = self.plan.submissions, self.plan.metric
        per_day = "" if self.per_day is None or self.per_day >= made else f", {self.per_day} per day"
        shown = self.policy.describe() if self.together is None else f"Scores are shown {self.policy.in_words()}."
        rules = (
            f"Submissions are scored by {metric.title}; {'lower' if metric.lower_is_better else 'higher'} is better.",
            shown,
            f"A team may make {counted(made, 'submission')}{per_day}.",
        )
        if not self.is_split:
            return rules
        return (
            *rules,
            f"These scores use about {self.public_fraction:.0%} of the rows: they are feedback for the team.",
            f"The ranking that counts is made once, at the end, on the other {1 - self.public_fraction:.0%}: one score "
            "for each team's last or chosen one.",
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
        plan = _filled(document.get("plan", {}), limited=document.get("together", True) not in (None, "none"))
        if "metric" in plan:
            written = plan["metric"]
            plan["metric"] = next((one for one in custom if written in (str(one), one.to_json())), written)
        return cls(**{**document, "plan": CompetitionPlan.from_json(plan)})


def _filled(plan: Mapping[str, Any], *, limited: bool) -> dict[str, Any]:
    """Return a plan's document with what a host leaves out where noise protects the live scores, not few answers."""
    filled = dict(plan) if limited else {"policy": Laplace.name, **plan}
    written = filled.get("policy", Rounded.name)
    name = written.get("name") if isinstance(written, Mapping) else str(written).partition(":")[0]
    return {"epsilon": _EPSILON, **filled} if name in (Laplace.name, Thresholdout.name) else filled
