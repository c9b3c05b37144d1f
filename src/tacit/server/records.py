"""What the server's engine answers: frozen values without a label, an exact score or a token."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tacit.privacy.guarantee import Promise

__all__ = [
    "Anyone",
    "Competition",
    "FinalPlace",
    "Flag",
    "Host",
    "Identity",
    "Place",
    "Registration",
    "Remaining",
    "Score",
    "Spend",
    "Team",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Competition:
    """What everybody may know of a competition.

    Parameters
    ----------
    slug
        Its name in addresses: small letters, digits and hyphens.
    name, description
        What the host calls it and says about it, plain text.
    metric, rules
        The metric's name, and the policy, budget and split in plain sentences.
    lower_is_better
        Which end of the leaderboard is its top.
    rows, classes
        How many predictions a submission holds; how many classes there are, 0 where labels are numbers.
    columns
        The columns of a submission's CSV file.
    per_team, per_day
        The submission budget: None where there is none.
    teams, most_teams
        How many teams there are, and may be.
    opens, closes
        When submissions are taken, in UTC; None: at once, and without an end.
    public
        Whether anyone may see the leaderboard.
    promise
        What a team's whole budget of scores guarantees to one label, or why nothing.
    finished
        Whether the final ranking on the private rows was released.

    Examples
    --------
    >>> from tacit.server.demo import toy
    >>> with toy() as engine:
    ...     engine.competition("coins").columns
    ('id', 'prediction')
    """

    slug: str
    name: str
    description: str
    metric: str
    rules: tuple[str, ...]
    lower_is_better: bool
    rows: int
    classes: int
    columns: tuple[str, ...]
    per_team: int | None
    per_day: int | None
    teams: int
    most_teams: int
    opens: datetime | None
    closes: datetime | None
    public: bool
    promise: Promise
    finished: bool

    def is_open(self, now: datetime) -> bool:
        """Tell whether submissions are taken at a time.

        Examples
        --------
        >>> from tacit.server.demo import toy
        >>> with toy() as engine:
        ...     engine.competition("coins").is_open(datetime.now())
        True
        """
        return (self.opens is None or self.opens <= now) and not self.is_closed(now)

    def is_closed(self, now: datetime) -> bool:
        """Tell whether the last moment for submissions is over.

        Examples
        --------
        >>> from tacit.server.demo import toy
        >>> with toy() as engine:
        ...     engine.competition("coins").is_closed(datetime.now())
        False
        """
        return self.finished or (self.closes is not None and self.closes <= now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """A team of one competition.

    Examples
    --------
    >>> Team(id=1, competition="titanic", name="Newcomers", joined=datetime(2026, 1, 1)).name
    'Newcomers'
    """

    id: int
    competition: str
    name: str
    joined: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Whoever holds the admin token: may do everything but read labels.

    Examples
    --------
    >>> Host()
    Host()
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Anyone:
    """Whoever holds no token, or one that is not known.

    Examples
    --------
    >>> Anyone()
    Anyone()
    """


Identity = Host | Team | Anyone


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """A new team and its token, which is shown this once and kept as a hash alone.

    Examples
    --------
    >>> team = Team(id=1, competition="titanic", name="Newcomers", joined=datetime(2026, 1, 1))
    >>> Registration(team=team, token="secret")
    Registration(team=Team(id=1, ...))
    """

    team: Team
    token: str

    def __repr__(self) -> str:
        return f"Registration(team={self.team!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One scored submission, as its team sees it: what was released and nothing finer.

    Parameters
    ----------
    id
        The submission's own; sending the same id with the same predictions again returns this same score.
    number
        1 for the team's first.
    released
        The number that left, as the policy made it.
    text
        The same as it is shown.

    Examples
    --------
    >>> Score(id="a", team="Newcomers", number=1, time=datetime(2026, 1, 1), released=0.48, text="0.48").text
    '0.48'
    """

    id: str
    team: str
    number: int
    time: datetime
    released: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One line of the leaderboard: a team's best released score.

    Examples
    --------
    >>> Place(rank=1, team="Newcomers", released=0.48, text="0.48", submissions=3, time=datetime(2026, 1, 1)).rank
    1
    """

    rank: int
    team: str
    released: float
    text: str
    submissions: int
    time: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalPlace:
    """One line of the final ranking, on the private rows.

    Examples
    --------
    >>> FinalPlace(rank=1, team="Newcomers", released=0.5, text="0.50", public_rank=2).public_rank
    2
    """

    rank: int
    team: str
    released: float
    text: str
    public_rank: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """A reason for the host to look at a submission; it counts all the same.

    Examples
    --------
    >>> Flag(submission="a", team="Newcomers", number=1, time=datetime(2026, 1, 1), check="constant",
    ...      reason="all rows are equal", measured=1.0, limit=0.9).check
    'constant'
    """

    submission: str
    team: str
    number: int
    time: datetime
    check: str
    reason: str
    measured: float
    limit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Remaining:
    """What is left of a team's submission budget; None: without a limit.

    Examples
    --------
    >>> Remaining(total=97, today=7).now
    7
    >>> Remaining(total=None, today=None).now is None
    True
    """

    total: int | None
    today: int | None

    @property
    def now(self) -> int | None:
        """How many submissions may be made today."""
        limits = [left for left in (self.total, self.today) if left is not None]
        return min(limits, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """What a competition's labels have spent in the ledger, for the host.

    Parameters
    ----------
    data_set
        Their name in the ledger; None where the policy promises nothing, so that nothing can be charged.
    budget, spent, left
        Epsilon at ``delta``, of all teams together; the whole budget of a team is charged when it joins.
    promise
        What one score guarantees, or why nothing.
    scores
        How many were shown.

    Examples
    --------
    >>> from tacit.privacy import NoGuarantee
    >>> Spend(data_set=None, budget=0.0, spent=0.0, left=0.0, delta=0.0, promise=NoGuarantee(reason="exact"),
    ...       scores=12).scores
    12
    """

    data_set: str | None
    budget: float
    spent: float
    left: float
    delta: float
    promise: Promise
    scores: int
