"""The JSON API under /api/v1: it takes :mod:`tacit.server.payloads` and answers with :mod:`tacit.server.records`."""

from __future__ import annotations

import hmac
from dataclasses import replace
from itertools import chain
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import PlainTextResponse, StreamingResponse
from pydantic import TypeAdapter

from tacit.privacy.errors import InvalidInput, TacitError
from tacit.privacy.settings import settings_of
from tacit.server.engine import ScoringEngine
from tacit.server.errors import Forbidden, Unauthorized
from tacit.server.guard import caller, token_of
from tacit.server.hosting import CompetitionChange
from tacit.server.intake import DESCRIPTION, take_submission
from tacit.server.leaks import ReplayRunner, forecast_of
from tacit.server.metrics import process_gauges
from tacit.server.payloads import (
    ChangeRequest,
    ChoiceRequest,
    CompetitionRequest,
    ErrorAnswer,
    InviteAnswer,
    OrganizerRequest,
    RegistrationRequest,
    ReplayRequest,
    RevokedAnswer,
    StandingRequest,
    StateRequest,
    TokenAnswer,
)
from tacit.server.records import (
    AnonymousCaller,
    Competition,
    FinalPlace,
    Host,
    HostAction,
    Identity,
    LabelSpend,
    LeaderboardPlace,
    Organizer,
    Registration,
    RemainingSubmissions,
    Role,
    ScoredSubmission,
    SubmissionFlag,
    Team,
    may_run,
    may_see,
)
from tacit.server.rules import CompetitionPlan, Rules
from tacit.server.terms import CompetitionTerms
from tacit.server.tokens import hash_token

__all__ = ["export_answer", "router"]

_REFUSALS = (400, 401, 403, 404, 409, 413, 422, 429, 503)


def router() -> APIRouter:
    """Return all routes; the application's ``state.engine`` does the work."""
    routes = APIRouter(prefix="/api/v1", responses={code: {"model": ErrorAnswer} for code in _REFUSALS})
    for register in (_for_anyone, _for_hosts, _for_running, _for_owners, _for_leaks, _for_teams):
        register(routes)
    return routes


# dependencies that only look are coroutines: FastAPI would send plain functions to another thread
async def _engine(request: Request) -> ScoringEngine:
    engine: ScoringEngine = request.app.state.engine
    return engine


async def _replays(request: Request) -> ReplayRunner:
    replays: ReplayRunner = request.app.state.replays
    return replays


Served = Annotated[ScoringEngine, Depends(_engine)]
Caller = Annotated[Identity, Depends(caller)]


async def _host(identity: Caller) -> Host:
    if not isinstance(identity, Host):
        raise _refused(identity, "the host")
    return identity


async def _team(slug: str, identity: Caller) -> Team:
    if not isinstance(identity, Team) or identity.competition != slug:
        raise _refused(identity, "a team of this competition")
    return identity


def _running(role: Role) -> list[Any]:
    """Return the dependency of a route that the host, and organizers with a role, may use."""

    async def check(slug: str, identity: Caller) -> None:
        if not may_run(identity, slug, role):
            raise _refused(identity, f"the host, or an organizer of this competition with the role {role},")

    return [Depends(check)]


async def _author(identity: Caller) -> Host | Organizer:
    """Return who changes something, after a check of the role."""
    if not isinstance(identity, Host | Organizer):
        raise _refused(identity, "the host")
    return identity


def _insider(slug: str, identity: Caller, engine: Served) -> Competition:
    """Return a competition whose numbers the caller may see."""
    found = engine.competition(slug)
    if not may_see(identity, found):
        raise _refused(identity, "the teams of this competition and the host")
    return found


def _refused(identity: Identity, who: str) -> TacitError:
    if not isinstance(identity, AnonymousCaller):
        return Forbidden(f"only {who} may do this")
    return Unauthorized(f"only {who} may do this; send the token as Authorization: Bearer TOKEN")


def _check_may_measure(request: Request, identity: Identity, expected: str | None) -> None:
    told = token_of(request.headers) or ""
    if not isinstance(identity, Host) and (
        expected is None or not hmac.compare_digest(hash_token(told), hash_token(expected))
    ):
        raise _refused(identity, "the host, or whoever has the token for metrics,")


ONLY_HOST = [Depends(_host)]
VIEWER, MANAGER, OWNER = _running("viewer"), _running("manager"), _running("owner")
Author = Annotated[Host | Organizer, Depends(_author)]
OwnTeam = Annotated[Team, Depends(_team)]
Visible = Annotated[Competition, Depends(_insider)]
Running = Annotated[ReplayRunner, Depends(_replays)]

Most = Annotated[int, Query(ge=1, le=10_000, description="how many, the newest")]
Skip = Annotated[int, Query(ge=0, le=1_000_000_000, description="how many of the newest to leave out")]

_SCORE = TypeAdapter(ScoredSubmission)


def _for_anyone(routes: APIRouter) -> None:
    @routes.get("/health", summary="Whether the server answers")
    def health() -> dict[str, str]:
        return {"status": "ok"}

    @routes.get("/ready", summary="Whether a write succeeds and the ledger can be read")
    def ready(engine: Served) -> dict[str, str]:
        engine.check_ready()
        return {"status": "ready"}

    @routes.get(
        "/metrics",
        summary="Counts and times of requests, for Prometheus; for the host or with the token for metrics",
        response_class=PlainTextResponse,
    )
    def metrics(request: Request, engine: Served, identity: Caller) -> PlainTextResponse:
        _check_may_measure(request, identity, engine.settings.metrics_token)
        gauges = {
            "tacit_connections": request.app.state.connections.total(),
            "tacit_submissions_waiting": engine.waiting,
            "tacit_body_room_bytes": request.app.state.room.left,
            "tacit_ready": engine.is_ready,
            **process_gauges(),
        }
        return PlainTextResponse(request.app.state.metrics.text(gauges))

    @routes.get("/competitions", summary="All competitions")
    def competitions(engine: Served, identity: Caller) -> tuple[Competition, ...]:
        return tuple(one for one in engine.competitions() if not one.archived or may_run(identity, one.slug, "viewer"))

    @routes.get("/competitions/{slug}", summary="One competition")
    def competition(slug: str, engine: Served) -> Competition:
        return engine.competition(slug)

    @routes.get(
        "/competitions/{slug}/features",
        summary="The features, as CSV",
        response_class=Response,
        responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
    )
    def features(found: Visible, engine: Served) -> Response:
        headers = {"content-disposition": f'attachment; filename="{found.slug}-features.csv"'}
        return Response(engine.features(found.slug), media_type="text/csv", headers=headers)

    @routes.get("/competitions/{slug}/leaderboard", summary="The leaderboard")
    def leaderboard(found: Visible, engine: Served) -> tuple[LeaderboardPlace, ...]:
        return engine.leaderboard(found.slug)

    @routes.get("/competitions/{slug}/history", summary="Released scores over time: the newest, or a page before them")
    def history(found: Visible, engine: Served, most: Most = 1_000, skip: Skip = 0) -> list[ScoredSubmission]:
        # an id lets its holder ask for a score again: it is for its own team, and so are notes
        return [replace(score, id="", note="") for score in engine.history(found.slug, most=most, skip=skip)]

    @routes.get("/competitions/{slug}/final", summary="The final ranking")
    def final(found: Visible, engine: Served) -> tuple[FinalPlace, ...]:
        return engine.final(found.slug)

    @routes.post("/teams", summary="Join with an invite", status_code=201)
    def register(body: RegistrationRequest, engine: Served) -> Registration:
        return engine.register(body.invite, name=body.name)


def _for_hosts(routes: APIRouter) -> None:
    @routes.post("/competitions", summary="Create a competition", status_code=201, dependencies=ONLY_HOST)
    def create(body: CompetitionRequest, engine: Served) -> Competition:
        features, labels = _encode(body.features, name="features"), _encode(body.labels, name="labels")
        return engine.create_competition(_terms(body, engine), features=features, labels=labels)

    @routes.post(
        "/competitions/{slug}/invites",
        summary="A code with which one team may join",
        status_code=201,
        dependencies=MANAGER,
    )
    def invite(slug: str, engine: Served, by: Author) -> InviteAnswer:
        return InviteAnswer(invite=engine.invite(slug, by=by))

    @routes.get("/competitions/{slug}/teams", summary="All teams", dependencies=VIEWER)
    def teams(slug: str, engine: Served) -> tuple[Team, ...]:
        return engine.teams(slug)

    @routes.get("/competitions/{slug}/flags", summary="Submissions that look crafted", dependencies=VIEWER)
    def flags(slug: str, engine: Served) -> tuple[SubmissionFlag, ...]:
        return engine.flags(slug)

    @routes.get("/competitions/{slug}/spend", summary="What the labels have spent", dependencies=VIEWER)
    def spend(slug: str, engine: Served) -> LabelSpend:
        return engine.spend(slug)

    @routes.post("/competitions/{slug}/final", summary="Release the final ranking, once", dependencies=OWNER)
    def finish(slug: str, engine: Served, by: Author) -> tuple[FinalPlace, ...]:
        return engine.finish(slug, by=by)


def _for_running(routes: APIRouter) -> None:
    @routes.patch("/competitions/{slug}", summary="Change texts and dates", dependencies=MANAGER)
    def change(slug: str, body: ChangeRequest, engine: Served, by: Author) -> Competition:
        engine.desk.change_competition(slug, CompetitionChange(**body.model_dump()), by=by)
        return engine.competition(slug)

    @routes.post(
        "/competitions/{slug}/teams/{name:path}/standing",
        summary="Freeze, disqualify, remove or reinstate a team",
        dependencies=MANAGER,
    )
    def standing(slug: str, name: str, body: StandingRequest, engine: Served, by: Author) -> Team:
        engine.desk.set_standing(engine.team(slug, name), body.standing, reason=body.reason, by=by)
        return engine.team(slug, name)

    @routes.post(
        "/competitions/{slug}/teams/{name:path}/token",
        summary="Another token for a team; the earlier one is void",
        status_code=201,
        dependencies=MANAGER,
    )
    def token(slug: str, name: str, engine: Served, by: Author) -> TokenAnswer:
        return TokenAnswer(token=engine.desk.reissue_token(engine.team(slug, name), by=by))

    @routes.delete("/competitions/{slug}/invites", summary="Make unused invites void", dependencies=MANAGER)
    def revoke(slug: str, engine: Served, by: Author) -> RevokedAnswer:
        return RevokedAnswer(revoked=engine.desk.revoke_invites(slug, by=by))

    @routes.post("/competitions/{slug}/state", summary="Close, reopen or archive", dependencies=OWNER)
    def state(slug: str, body: StateRequest, engine: Served, by: Author) -> Competition:
        engine.desk.set_state(slug, body.state, closes=body.closes, reason=body.reason, by=by)
        return engine.competition(slug)

    @routes.get("/competitions/{slug}/actions", summary="Who did what, newest first", dependencies=VIEWER)
    def actions(slug: str, engine: Served) -> tuple[HostAction, ...]:
        return engine.actions(slug)

    @routes.get("/actions", summary="What was done on the whole server, newest first", dependencies=ONLY_HOST)
    def all_actions(engine: Served) -> tuple[HostAction, ...]:
        return engine.actions()


def _for_owners(routes: APIRouter) -> None:
    @routes.delete(
        "/competitions/{slug}",
        summary="Delete a competition for good; confirm is its short name once more",
        dependencies=OWNER,
    )
    def delete(slug: str, confirm: str, engine: Served, by: Author) -> dict[str, str]:
        engine.desk.delete_competition(slug, confirm=confirm, by=by)
        return {"deleted": slug}

    @routes.get("/competitions/{slug}/organizers", summary="Who runs the competition", dependencies=VIEWER)
    def organizers(slug: str, engine: Served) -> tuple[Organizer, ...]:
        return engine.organizers(slug)

    @routes.post(
        "/competitions/{slug}/organizers",
        summary="Let someone run the competition",
        status_code=201,
        dependencies=OWNER,
    )
    def add(slug: str, body: OrganizerRequest, engine: Served, by: Author) -> TokenAnswer:
        return TokenAnswer(token=engine.desk.add_organizer(slug, name=body.name, role=body.role, by=by)[1])

    @routes.delete("/competitions/{slug}/organizers/{name:path}", summary="Remove an organizer", dependencies=OWNER)
    def remove(slug: str, name: str, engine: Served, by: Author) -> tuple[Organizer, ...]:
        engine.desk.remove_organizer(slug, name, by=by)
        return engine.organizers(slug)

    @routes.get(
        "/competitions/{slug}/export",
        summary="Everything but the labels: a JSON document, or CSV files in a ZIP archive",
        response_class=StreamingResponse,
        dependencies=VIEWER,
    )
    def export(
        slug: str, engine: Served, form: Literal["json", "csv"] = "json", predictions: bool = False
    ) -> StreamingResponse:
        return export_answer(engine, slug, archive=form == "csv", predictions=predictions)


def _for_leaks(routes: APIRouter) -> None:
    @routes.get("/competitions/{slug}/forecast", summary="What the rules are expected to leak", dependencies=VIEWER)
    def forecast(slug: str, engine: Served) -> dict[str, Any]:
        return forecast_of(engine.board(slug)).to_json()

    @routes.post(
        "/competitions/{slug}/replay",
        summary="Attack a copy of the competition",
        status_code=202,
        dependencies=MANAGER,
    )
    def start_replay(slug: str, body: ReplayRequest, engine: Served, replays: Running) -> dict[str, Any]:
        replays.start(engine, slug, submissions=body.submissions, teams=body.teams)
        return replays.state_json(slug)

    @routes.get("/competitions/{slug}/replay", summary="The state of the latest replay", dependencies=VIEWER)
    def replay_state(slug: str, engine: Served, replays: Running) -> dict[str, Any]:
        return replays.state_json(engine.competition(slug).slug)


def _for_teams(routes: APIRouter) -> None:
    @routes.post(
        "/competitions/{slug}/submissions",
        summary="Submit predictions and get a score",
        status_code=201,
        response_model=ScoredSubmission,
        openapi_extra=DESCRIPTION,
    )
    async def submit(request: Request, slug: str) -> Response:
        # the one request that comes in thousands: FastAPI's dependencies would cost more than the scoring
        team = await _team(slug, await caller(request))
        score = await take_submission(request, team, request.app.state.engine)
        return Response(_SCORE.dump_json(score, by_alias=True), status_code=201, media_type="application/json")

    @routes.get("/competitions/{slug}/submissions", summary="The team's released scores")
    def own_scores(team: OwnTeam, engine: Served, most: Most = 1_000, skip: Skip = 0) -> tuple[ScoredSubmission, ...]:
        return engine.own_scores(team, most=most, skip=skip)

    @routes.get(
        "/competitions/{slug}/submissions/{number}/file",
        summary="What the team submitted, as CSV",
        response_class=Response,
        responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
    )
    def own_file(team: OwnTeam, number: int, engine: Served) -> Response:
        return Response(engine.submitted_file(team, number), media_type="text/csv")

    @routes.put("/competitions/{slug}/choice", summary="Which submission is ranked at the end; null: the last one")
    def choose(team: OwnTeam, body: ChoiceRequest, engine: Served) -> RemainingSubmissions:
        engine.choose_final(team, body.number)
        return engine.remaining(team)

    @routes.get("/competitions/{slug}/budget", summary="What is left of the team's submissions")
    def budget(team: OwnTeam, engine: Served) -> RemainingSubmissions:
        return engine.remaining(team)


def export_answer(engine: ScoringEngine, slug: str, *, archive: bool, predictions: bool = False) -> StreamingResponse:
    """Return an export, which is read from the database while it is sent."""
    name = f"{engine.competition(slug).slug}.{'zip' if archive else 'json'}"
    pieces = engine.export(slug, archive=archive, predictions=archive and predictions)
    return StreamingResponse(
        chain([next(pieces)], pieces),  # what is refused is refused before the answer begins
        media_type="application/zip" if archive else "application/json",
        headers={"content-disposition": f'attachment; filename="{name}"'},
    )


def _terms(body: CompetitionRequest, engine: ScoringEngine) -> CompetitionTerms:
    """Return a request's terms, or raise with one sentence."""
    given = body.model_dump(exclude={"features", "labels"}, exclude_unset=True)
    plan, rules = (
        {one.name: given.pop(one.name) for one in settings_of(kind) if one.name in given and one.name != "delta"}
        for kind in (CompetitionPlan, Rules)
    )
    custom = engine.settings.custom_metrics
    return CompetitionTerms(rules=Rules.from_json({"plan": plan, **rules}, custom=custom), **given)


def _encode(text: str, *, name: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{name} must be text in UTF-8") from None
