"""What the engine returns and the API writes as JSON: frozen values without a label or an exact score."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field, InstanceOf, PlainSerializer

from tacit.privacy.guarantee import Guarantee, NoGuarantee

__all__ = [
    "AnonymousCaller",
    "BoardView",
    "Competition",
    "FinalPlace",
    "Host",
    "HostAction",
    "Identity",
    "LabelSpend",
    "LeaderboardPlace",
    "Organizer",
    "Registration",
    "RemainingSubmissions",
    "Role",
    "ScoredSubmission",
    "Standing",
    "SubmissionFlag",
    "Team",
    "may_run",
    "may_see",
]


Sentence = Annotated[InstanceOf[Guarantee] | InstanceOf[NoGuarantee], PlainSerializer(str, return_type=str)]
"""A guarantee, or why there is none; the API writes it as a sentence."""

ReleasedScore = Annotated[float, Field(serialization_alias="score")]
ShownScore = Annotated[float | None, Field(serialization_alias="score")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Competition:
    """What everybody may know of a competition.

    Parameters
    ----------
    metric, rules
        The metric as it is written, and the policy, budget and split in plain sentences.
    cautions
        What the host should know of these rules before the competition opens.
    answers
        How many live scores each team gets where all teams share them; None: every submission is answered.
    joined, teams
        How many teams have joined, and how many may.
    rows, classes
        How many predictions a submission holds; how many classes there are, 0 where labels are numbers.
    guarantee
        What a team's whole budget of scores guarantees to one label, or why nothing.
    """

    slug: str
    name: str
    description: str
    metric: str
    rules: tuple[str, ...]
    cautions: tuple[str, ...]
    lower_is_better: bool
    rows: int
    classes: int
    columns: tuple[str, ...]
    submissions: int
    per_day: int | None
    answers: int | None
    joined: int
    teams: int
    opens: datetime | None
    closes: datetime | None
    public: bool
    guarantee: Sentence
    finished: bool
    archived: bool

    def is_open(self, now: datetime) -> bool:
        """Return whether submissions are accepted at a time."""
        return (self.opens is None or self.opens <= now) and not self.is_closed(now)

    def is_closed(self, now: datetime) -> bool:
        """Return whether the last moment for submissions is over."""
        return self.finished or (self.closes is not None and self.closes <= now)


Standing = Literal["active", "frozen", "disqualified", "removed"]
"""Whether a team may submit (active), is ranked (active, frozen), and may sign in (all but removed)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """A team of one competition."""

    session_lasts: ClassVar[timedelta] = timedelta(days=14)

    id: int
    competition: str
    name: str
    joined: datetime
    standing: Standing = "active"


Role = Literal["viewer", "manager", "owner"]
"""What an organizer may do: look; also run teams, dates and texts; also end, delete, and choose organizers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Organizer:
    """Someone whom the host lets run one competition."""

    session_lasts: ClassVar[timedelta] = timedelta(hours=12)

    id: int
    competition: str
    name: str
    role: Role
    added: datetime

    @property
    def title(self) -> str:
        """Who it is, for the trail."""
        return f"{self.name} ({self.role})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The owner of the admin token, who may do everything but read labels."""

    session_lasts: ClassVar[timedelta] = timedelta(hours=12)

    @property
    def title(self) -> str:
        """Who it is, for the trail."""
        return "host"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnonymousCaller:
    """A caller without a token, or with an unknown one."""


Identity = Host | Organizer | Team | AnonymousCaller


def may_run(identity: Identity, slug: str, role: Role) -> bool:
    """Return whether someone may do in a competition what a role may."""
    if isinstance(identity, Organizer) and identity.competition == slug:
        ranks = get_args(Role)
        return ranks.index(identity.role) >= ranks.index(role)
    return isinstance(identity, Host)


def may_see(identity: Identity, competition: Competition) -> bool:
    """Return whether someone may see a competition's leaderboard and files."""
    own = isinstance(identity, Team) and identity.competition == competition.slug
    return competition.public or own or may_run(identity, competition.slug, "viewer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """A new team and its token, which is shown only once and stored as a hash."""

    team: Team
    token: str

    def __repr__(self) -> str:
        return f"Registration(team={self.team!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredSubmission:
    """One scored submission, as its team sees it: what was released and nothing finer.

    Parameters
    ----------
    id
        The submission's own; sending the same id with the same predictions again returns this same score.
    released
        The number that left, as the policy made it and rounded to its noise; None where the submission is kept for the
        end.
    interval
        Where the exact score on the same rows is, at 95%; None where nothing is known of it.
    """

    id: str
    team: str
    number: int
    time: datetime
    released: ShownScore
    text: str
    interval: tuple[float, float] | None = None
    note: str = ""

    @property
    def value(self) -> float:
        """The released number of a submission that was answered."""
        assert self.released is not None
        return self.released


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardPlace:
    """One line of the leaderboard: a team's best released score.

    Parameters
    ----------
    rank, last
        The first and the last place that the team may have: scores whose intervals overlap are tied.
    interval
        Where the exact score on the same rows is, at 95%, as the best of so many.
    """

    rank: int
    last: int
    team: str
    released: ReleasedScore
    text: str
    interval: tuple[float, float] | None
    submissions: int
    time: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalPlace:
    """One line of the final ranking, on the private rows; a team without a live score has no public rank.

    Parameters
    ----------
    rank, last
        The first and the last place that the team may have: scores whose intervals overlap are tied.
    ahead
        The chance that this team's exact score is better than that of the next line, by the released scores alone.
    """

    rank: int
    last: int
    team: str
    released: ReleasedScore
    text: str
    interval: tuple[float, float] | None
    ahead: float | None
    public_rank: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardView:
    """What a competition's page shows, as of one version: places, the scores that are drawn, and the final ranking."""

    version: tuple[Any, ...]
    finished: datetime | None
    competition: Competition
    places: tuple[LeaderboardPlace, ...]
    progress: tuple[ScoredSubmission, ...]
    final: tuple[FinalPlace, ...]
    attachments: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionFlag:
    """A reason for the host to look at a submission, which still counts."""

    submission: str
    team: str
    number: int
    time: datetime
    check: str
    reason: str
    measured: float
    limit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HostAction:
    """One line of the trail: what the host or an organizer did, in which competition if in one, and why."""

    competition: str
    time: datetime
    who: str
    what: str
    whom: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemainingSubmissions:
    """What is left of a team's submission budget, and of its live scores; None: without a limit.

    ``chosen`` is the submission that is ranked at the end; None: the last one.
    """

    total: int | None
    today: int | None
    live: int | None
    chosen: int | None = None

    @property
    def now(self) -> int | None:
        """How many submissions may be made today."""
        limits = [left for left in (self.total, self.today) if left is not None]
        return min(limits, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelSpend:
    """What a competition's labels have spent in the ledger, for the host.

    Parameters
    ----------
    data_set
        Their name in the ledger; None if the policy keeps no guarantee, so that nothing is charged.
    budget, left
        Epsilon of all teams together, and what still fits; the whole budget of a team is charged when it joins.
    used, spent
        The share of the budget that is used, and the epsilon spent; None if the budget has a delta.
    guarantee
        What one score guarantees, or why nothing.
    """

    data_set: str | None
    budget: float
    used: float
    spent: float | None
    left: float
    delta: float
    guarantee: Sentence
    scores: int
