"""What the JSON API takes, as OpenAPI describes it; it answers with :mod:`tacit.server.records`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from tacit.server.hosting import CompetitionState
from tacit.server.leaks import MOST_SUBMISSIONS
from tacit.server.records import Role, Standing
from tacit.server.rules import CompetitionPlan, Rules

__all__ = [
    "ChangeRequest",
    "ChoiceRequest",
    "CompetitionRequest",
    "ErrorAnswer",
    "InviteAnswer",
    "OrganizerRequest",
    "PredictionsRequest",
    "RegistrationRequest",
    "ReplayRequest",
    "RevokedAnswer",
    "StandingRequest",
    "StateRequest",
    "TokenAnswer",
]


class ErrorAnswer(BaseModel):
    """Why a request was refused: one sentence."""

    error: str


class InviteAnswer(BaseModel):
    """A code with which one team can join, shown only once."""

    invite: str


class _StrictRequest(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


_DEFAULT = Rules(plan=CompetitionPlan())
_Choice = Annotated[
    str | dict[str, Any], Field(description="NAME[:KEY=VALUE,...], or an object with name and parameters")
]


class CompetitionRequest(_StrictRequest):
    """A new competition; what is left out of its plan and rules is what is recommended."""

    slug: Annotated[str, Field(pattern="^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$")]
    name: Annotated[str, Field(min_length=1, max_length=200)]
    description: Annotated[str, Field(max_length=20_000)] = ""
    label: Annotated[str, Field(max_length=1_024)] = _DEFAULT.plan.label
    classes: Annotated[list[str], Field(min_length=2)] | str | None = None
    metric: _Choice = str(_DEFAULT.plan.metric)
    policy: _Choice = str(_DEFAULT.plan.policy)
    epsilon: float | Literal["none"] | None = _DEFAULT.plan.epsilon
    submissions: int = _DEFAULT.plan.submissions
    per_day: int | Literal["none"] | None = _DEFAULT.per_day
    public_fraction: float = _DEFAULT.public_fraction
    final: _Choice = str(_DEFAULT.final)
    final_epsilon: float | Literal["none"] | None = _DEFAULT.final_epsilon
    teams: Annotated[int, Field(ge=1, le=100_000)] = _DEFAULT.teams
    together: float | Literal["none"] | None = _DEFAULT.together
    rarest: float = _DEFAULT.rarest
    live: Literal["kept", "spent"] = _DEFAULT.live
    opens: AwareDatetime | None = None
    closes: AwareDatetime | None = None
    public: bool = True
    delta: Annotated[float, Field(ge=0, lt=1)] = 0.0
    again: bool = False
    features: Annotated[str, Field(description="a CSV file with a header; everybody can read it")]
    labels: Annotated[str, Field(description="a CSV file; the server never shows it", repr=False)]


class RegistrationRequest(_StrictRequest):
    """A team that wants to join."""

    invite: Annotated[str, Field(min_length=1, max_length=256, repr=False)]
    name: Annotated[str, Field(min_length=1, max_length=80)]


class PredictionsRequest(_StrictRequest):
    """A submission as JSON: a number or a list per row, in the features' order or with their ids."""

    predictions: list[float] | list[list[float]]
    ids: list[str] | None = None


class ChoiceRequest(_StrictRequest):
    """The submission that a team wants ranked at the end; null: its last one."""

    number: int | None


class StandingRequest(_StrictRequest):
    """What becomes of a team, and why."""

    standing: Standing
    reason: Annotated[str, Field(max_length=500)] = ""


class ChangeRequest(_StrictRequest):
    """New texts and dates of a competition; what is left out stays."""

    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    description: Annotated[str, Field(max_length=20_000)] | None = None
    opens: AwareDatetime | None = None
    closes: AwareDatetime | None = None


class StateRequest(_StrictRequest):
    """Whether a competition is open, closed or archived, and why; ``closes`` is of an open one."""

    state: CompetitionState
    closes: AwareDatetime | None = None
    reason: Annotated[str, Field(max_length=500)] = ""


class OrganizerRequest(_StrictRequest):
    """Someone who is to run one competition."""

    name: Annotated[str, Field(min_length=1, max_length=80)]
    role: Role = "manager"


class TokenAnswer(BaseModel):
    """The token of a team or an organizer, shown only once."""

    token: str


class RevokedAnswer(BaseModel):
    """How many unused invites are void now."""

    revoked: int


class ReplayRequest(_StrictRequest):
    """How many submissions each attacker of a replay makes, and how many attackers share their scores."""

    teams: Annotated[int, Field(ge=1, le=MOST_SUBMISSIONS)] | None = None
    submissions: Annotated[int, Field(ge=1, le=MOST_SUBMISSIONS)] | None = None
