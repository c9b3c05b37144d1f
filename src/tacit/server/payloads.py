"""The JSON API's documents, as OpenAPI describes them. No example in them is a label or a real score."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

__all__ = [
    "BudgetAnswer",
    "CompetitionAnswer",
    "CompetitionRequest",
    "ErrorAnswer",
    "FinalAnswer",
    "FlagAnswer",
    "InviteAnswer",
    "PlaceAnswer",
    "PredictionsRequest",
    "RegistrationAnswer",
    "RegistrationRequest",
    "ScoreAnswer",
    "SpendAnswer",
    "TeamAnswer",
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class ErrorAnswer(BaseModel):
    """Why a request was refused: one sentence.

    Examples
    --------
    >>> ErrorAnswer(error="there is no competition 'x'").error
    "there is no competition 'x'"
    """

    error: str


class CompetitionRequest(_Strict):
    """A new competition.

    Examples
    --------
    >>> CompetitionRequest(slug="coins", name="Coins", setting={}, features="a", labels="b").most_teams
    20
    """

    slug: Annotated[str, Field(pattern="^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$")]
    name: Annotated[str, Field(min_length=1, max_length=200)]
    description: Annotated[str, Field(max_length=20_000)] = ""
    setting: Annotated[
        dict[str, Any],
        Field(
            description="metric, policy, budget, split and final_policy, as tacit.scores.protect.Setting writes them; "
            "what is left out, all but the metric, is the recommended default's",
            examples=[{"metric": {"metric": "accuracy"}}],
        ),
    ]
    opens: AwareDatetime | None = None
    closes: AwareDatetime | None = None
    most_teams: Annotated[int, Field(ge=1, le=100_000)] = 20
    public: bool = True
    delta: Annotated[float, Field(ge=0, lt=1)] = 0.0
    again: bool = False
    features: Annotated[str, Field(description="a CSV file with a header; everybody may read it")]
    labels: Annotated[str, Field(description="a CSV file; it never leaves the server", repr=False)]


class RegistrationRequest(_Strict):
    """A team that wants to join.

    Examples
    --------
    >>> RegistrationRequest(invite="tacit_invite_x", name="Newcomers").name
    'Newcomers'
    """

    invite: Annotated[str, Field(min_length=1, max_length=256, repr=False)]
    name: Annotated[str, Field(min_length=1, max_length=80)]


class PredictionsRequest(_Strict):
    """A submission as JSON: one number a row or one list a row, in the features' order or with their ids.

    Examples
    --------
    >>> PredictionsRequest(predictions=[0.5]).ids is None
    True
    """

    predictions: list[float] | list[list[float]]
    ids: list[str] | None = None


class CompetitionAnswer(BaseModel):
    """What everybody may know of a competition.

    Examples
    --------
    >>> "rules" in CompetitionAnswer.model_fields
    True
    """

    slug: str
    name: str
    description: str
    metric: str
    rules: list[str]
    lower_is_better: bool
    rows: int
    classes: int
    columns: list[str]
    per_team: int | None
    per_day: int | None
    teams: int
    most_teams: int
    opens: datetime | None
    closes: datetime | None
    public: bool
    promise: str
    finished: bool


class InviteAnswer(BaseModel):
    """A code with which one team may join, shown this once.

    Examples
    --------
    >>> InviteAnswer(invite="tacit_invite_x").invite
    'tacit_invite_x'
    """

    invite: str


class TeamAnswer(BaseModel):
    """A team.

    Examples
    --------
    >>> sorted(TeamAnswer.model_fields)
    ['competition', 'id', 'joined', 'name']
    """

    id: int
    competition: str
    name: str
    joined: datetime


class RegistrationAnswer(BaseModel):
    """A new team and its token, shown this once.

    Examples
    --------
    >>> sorted(RegistrationAnswer.model_fields)
    ['team', 'token']
    """

    team: TeamAnswer
    token: str


class ScoreAnswer(BaseModel):
    """A released score.

    Examples
    --------
    >>> sorted(ScoreAnswer.model_fields)
    ['id', 'number', 'score', 'team', 'text', 'time']
    """

    id: str
    team: str
    number: int
    time: datetime
    score: float
    text: str


class BudgetAnswer(BaseModel):
    """What is left of a team's submissions.

    Examples
    --------
    >>> BudgetAnswer(total=90, today=None).total
    90
    """

    total: int | None
    today: int | None


class PlaceAnswer(BaseModel):
    """One line of the leaderboard.

    Examples
    --------
    >>> "rank" in PlaceAnswer.model_fields
    True
    """

    rank: int
    team: str
    score: float
    text: str
    submissions: int
    time: datetime


class FinalAnswer(BaseModel):
    """One line of the final ranking.

    Examples
    --------
    >>> "public_rank" in FinalAnswer.model_fields
    True
    """

    rank: int
    team: str
    score: float
    text: str
    public_rank: int


class FlagAnswer(BaseModel):
    """A reason to look at a submission.

    Examples
    --------
    >>> "reason" in FlagAnswer.model_fields
    True
    """

    submission: str
    team: str
    number: int
    time: datetime
    check: str
    reason: str
    measured: float
    limit: float


class SpendAnswer(BaseModel):
    """What a competition's labels have spent.

    Examples
    --------
    >>> "spent" in SpendAnswer.model_fields
    True
    """

    data_set: str | None
    budget: float
    spent: float
    left: float
    delta: float
    promise: str
    scores: int
