"""The JSON API under /api/v1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse

from tacit.privacy.errors import InvalidInput, TacitError
from tacit.scores.protect import complete_setting
from tacit.server.engine import Engine
from tacit.server.errors import Forbidden, Unauthorized
from tacit.server.intake import DESCRIPTION, take_submission
from tacit.server.payloads import (
    BudgetAnswer,
    CompetitionAnswer,
    CompetitionRequest,
    ErrorAnswer,
    FinalAnswer,
    FlagAnswer,
    InviteAnswer,
    PlaceAnswer,
    RegistrationAnswer,
    RegistrationRequest,
    ScoreAnswer,
    SpendAnswer,
    TeamAnswer,
)
from tacit.server.records import Competition, FinalPlace, Host, Identity, Place, Score, Team
from tacit.server.security import caller
from tacit.server.terms import Terms

__all__ = ["router"]


def router() -> APIRouter:
    """Return all routes; the application's ``state.engine`` does the work.

    Examples
    --------
    >>> "/api/v1/competitions" in {route.path for route in router().routes}
    True
    """
    routes = APIRouter(prefix="/api/v1", responses={code: {"model": ErrorAnswer} for code in _REFUSALS})
    for register in (_for_anyone, _for_hosts, _for_teams):
        register(routes)
    return routes


_REFUSALS = (400, 401, 403, 404, 409, 413, 422, 429, 503)


# dependencies that only look are coroutines: FastAPI would send plain functions to another thread
async def _engine(request: Request) -> Engine:
    engine: Engine = request.app.state.engine
    return engine


Served = Annotated[Engine, Depends(_engine)]
Caller = Annotated[Identity, Depends(caller)]


async def _host(identity: Caller) -> Host:
    if not isinstance(identity, Host):
        raise _refused(identity, "the host")
    return identity


async def _team(slug: str, identity: Caller) -> Team:
    if not isinstance(identity, Team) or identity.competition != slug:
        raise _refused(identity, "a team of this competition")
    return identity


def _insider(slug: str, identity: Caller, engine: Served) -> Competition:
    """Return a competition whose numbers the caller may see."""
    found = engine.competition(slug)
    if not (
        found.public or isinstance(identity, Host) or (isinstance(identity, Team) and identity.competition == slug)
    ):
        raise _refused(identity, "the teams of this competition and the host")
    return found


def _refused(identity: Identity, who: str) -> TacitError:
    if isinstance(identity, Host | Team):
        return Forbidden(f"only {who} may do this")
    return Unauthorized(f"only {who} may do this; send the token as Authorization: Bearer TOKEN")


OnlyHost = Depends(_host)
OwnTeam = Annotated[Team, Depends(_team)]
Visible = Annotated[Competition, Depends(_insider)]


def _for_anyone(routes: APIRouter) -> None:
    @routes.get("/health", summary="Whether the server answers")
    def health() -> dict[str, str]:
        return {"status": "ok"}

    @routes.get("/competitions", summary="All competitions", response_model=list[CompetitionAnswer])
    def competitions(engine: Served) -> Response:
        return _answer(engine.competitions(), competition_json)

    @routes.get("/competitions/{slug}", summary="One competition", response_model=CompetitionAnswer)
    def competition(slug: str, engine: Served) -> Response:
        return JSONResponse(competition_json(engine.competition(slug)))

    @routes.get(
        "/competitions/{slug}/features",
        summary="The features, as CSV",
        response_class=Response,
        responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
    )
    def features(found: Visible, engine: Served) -> Response:
        headers = {"content-disposition": f'attachment; filename="{found.slug}-features.csv"'}
        return Response(engine.features(found.slug), media_type="text/csv", headers=headers)

    @routes.get("/competitions/{slug}/leaderboard", summary="The leaderboard", response_model=list[PlaceAnswer])
    def leaderboard(found: Visible, engine: Served) -> Response:
        return _answer(engine.leaderboard(found.slug), _place_json)

    @routes.get("/competitions/{slug}/history", summary="Released scores over time", response_model=list[ScoreAnswer])
    def history(found: Visible, engine: Served) -> Response:
        # an id lets its holder ask for a score again: it is for its own team
        return _answer(engine.history(found.slug), lambda score: {**score_json(score), "id": ""})

    @routes.get("/competitions/{slug}/final", summary="The final ranking", response_model=list[FinalAnswer])
    def final(found: Visible, engine: Served) -> Response:
        return _answer(engine.final(found.slug), _final_json)

    @routes.post("/teams", summary="Join with an invite", status_code=201, response_model=RegistrationAnswer)
    def register(body: RegistrationRequest, engine: Served) -> Response:
        joined = engine.register(body.invite, name=body.name)
        return JSONResponse({"team": _team_json(joined.team), "token": joined.token}, status_code=201)


def _for_hosts(routes: APIRouter) -> None:
    @routes.post(
        "/competitions",
        summary="Create a competition",
        status_code=201,
        response_model=CompetitionAnswer,
        dependencies=[OnlyHost],
    )
    def create(body: CompetitionRequest, engine: Served) -> Response:
        files = {"features": _encode(body.features, name="features"), "labels": _encode(body.labels, name="labels")}
        created = engine.create_competition(terms_of(body, engine), **files)
        return JSONResponse(competition_json(created), status_code=201)

    @routes.post(
        "/competitions/{slug}/invites",
        summary="A code with which one team may join",
        status_code=201,
        response_model=InviteAnswer,
        dependencies=[OnlyHost],
    )
    def invite(slug: str, engine: Served) -> Response:
        return JSONResponse({"invite": engine.invite(slug)}, status_code=201)

    @routes.get(
        "/competitions/{slug}/teams", summary="All teams", response_model=list[TeamAnswer], dependencies=[OnlyHost]
    )
    def teams(slug: str, engine: Served) -> Response:
        return _answer(engine.teams(slug), _team_json)

    @routes.get(
        "/competitions/{slug}/flags",
        summary="Submissions that look crafted",
        response_model=list[FlagAnswer],
        dependencies=[OnlyHost],
    )
    def flags(slug: str, engine: Served) -> Response:
        return _answer(engine.flags(slug), lambda flag: {**asdict(flag), "time": flag.time.isoformat()})

    @routes.get(
        "/competitions/{slug}/spend",
        summary="What the labels have spent",
        response_model=SpendAnswer,
        dependencies=[OnlyHost],
    )
    def spend(slug: str, engine: Served) -> Response:
        found = engine.spend(slug)
        return JSONResponse(
            {name: getattr(found, name) for name in SpendAnswer.model_fields} | {"promise": str(found.promise)}
        )

    @routes.post(
        "/competitions/{slug}/final",
        summary="Release the final ranking, once",
        response_model=list[FinalAnswer],
        dependencies=[OnlyHost],
    )
    def finish(slug: str, engine: Served) -> Response:
        return _answer(engine.finish(slug), _final_json)


def _for_teams(routes: APIRouter) -> None:
    @routes.post(
        "/competitions/{slug}/submissions",
        summary="Submit predictions and get a score",
        status_code=201,
        response_model=ScoreAnswer,
        openapi_extra=DESCRIPTION,
    )
    async def submit(request: Request, slug: str) -> Response:
        # the one request that comes in thousands: FastAPI's dependencies would cost more than the scoring
        team = await _team(slug, await caller(request))
        score = await take_submission(request, team, request.app.state.engine)
        return JSONResponse(score_json(score), status_code=201)

    @routes.get(
        "/competitions/{slug}/submissions", summary="The team's released scores", response_model=list[ScoreAnswer]
    )
    def own_scores(team: OwnTeam, engine: Served) -> Response:
        return _answer(engine.own_scores(team), score_json)

    @routes.get(
        "/competitions/{slug}/budget", summary="What is left of the team's submissions", response_model=BudgetAnswer
    )
    def budget(team: OwnTeam, engine: Served) -> Response:
        return JSONResponse(asdict(engine.remaining(team)))


def terms_of(body: CompetitionRequest, engine: Engine) -> Terms:
    """Return a request's terms, or raise with one sentence."""
    try:
        setting = complete_setting(body.setting, own=engine.settings.own_metrics)
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, TacitError):
            raise
        raise InvalidInput("setting must be as tacit.scores.protect.Setting writes it, got something else") from None
    names = ("slug", "name", "description", "opens", "closes", "most_teams", "public", "delta", "again")
    return Terms(setting=setting, **{name: getattr(body, name) for name in names})


def competition_json(found: Competition) -> dict[str, Any]:
    """Return a competition as the API shows it."""
    plain = {name: getattr(found, name) for name in CompetitionAnswer.model_fields}
    moments = {name: plain[name] and plain[name].isoformat() for name in ("opens", "closes")}
    return plain | moments | {"promise": str(found.promise)}


def score_json(score: Score) -> dict[str, Any]:
    """Return a score as the API shows it."""
    return {
        "id": score.id,
        "team": score.team,
        "number": score.number,
        "time": score.time.isoformat(),
        "score": score.released,
        "text": score.text,
    }


def _place_json(place: Place) -> dict[str, Any]:
    return {
        "rank": place.rank,
        "team": place.team,
        "score": place.released,
        "text": place.text,
        "submissions": place.submissions,
        "time": place.time.isoformat(),
    }


def _final_json(place: FinalPlace) -> dict[str, Any]:
    return {
        "rank": place.rank,
        "team": place.team,
        "score": place.released,
        "text": place.text,
        "public_rank": place.public_rank,
    }


def _team_json(team: Team) -> dict[str, Any]:
    return {"id": team.id, "competition": team.competition, "name": team.name, "joined": team.joined.isoformat()}


def _answer(found: Sequence[Any], as_json: Callable[[Any], dict[str, Any]]) -> Response:
    return JSONResponse([as_json(one) for one in found])


def _encode(text: str, *, name: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{name} must be text in UTF-8") from None
