"""What leaks: the forecast for a competition's rules, and the live replay, as page and as API."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from tacit.leak.prior import doubt_of
from tacit.privacy.errors import InvalidInput
from tacit.server.board import Board
from tacit.server.errors import Forbidden, NotFound, Unauthorized
from tacit.server.forecast import Forecast, forecast
from tacit.server.pages.forms import check_mark, read_form
from tacit.server.pages.replays import MOST, Replays
from tacit.server.pages.view import engine_of, go_to, host_of, render
from tacit.server.payloads import ErrorAnswer
from tacit.server.records import Host, Identity, Team
from tacit.server.replay import prior_of
from tacit.server.security import caller

__all__ = ["add_leak_pages", "leak_api"]


class ReplayRequest(BaseModel):
    """How many submissions the attacker of a replay makes.

    Examples
    --------
    >>> ReplayRequest().submissions is None
    True
    """

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    submissions: Annotated[int, Field(ge=1, le=MOST)] | None = None


def add_leak_pages(routes: APIRouter) -> None:
    """Add the page on which a host sees what the rules give away.

    Examples
    --------
    >>> routes = APIRouter()
    >>> add_leak_pages(routes)
    >>> [route.path for route in routes.routes][0]
    '/c/{slug}/leaks'
    """

    @routes.get("/c/{slug}/leaks")
    def leaks(request: Request, slug: str) -> Response:
        host_of(request)
        engine = engine_of(request)
        board = engine.board(slug)
        return render(
            request,
            "leaks.html",
            competition=engine.competition(slug),
            split=board.setting.split.public_fraction < 1,
            told=_forecast(board),
            state=_replays(request).state(slug),
            most=MOST,
        )

    @routes.post("/c/{slug}/leaks")
    async def start(request: Request, slug: str) -> Response:
        await run_in_threadpool(host_of, request)
        engine = engine_of(request)
        fields = await read_form(request)
        check_mark(request, fields, engine.form_secret)
        wanted = fields.get("submissions", b"").decode("utf-8", errors="replace").strip()
        if wanted and not wanted.isdecimal():
            raise InvalidInput(f"submissions must be a whole number, got {wanted[:40]!r}")
        begin = _replays(request).start
        await run_in_threadpool(begin, engine, slug, submissions=int(wanted) if wanted else None)
        return go_to(f"/c/{slug}/leaks#replay")

    @routes.get("/c/{slug}/leaks/state")
    def state(request: Request, slug: str) -> Response:
        host_of(request)
        return JSONResponse(_state(request, slug))


def leak_api() -> APIRouter:
    """Return the same for programs: the forecast, starting a replay, and how it stands; for the host alone.

    Examples
    --------
    >>> sorted({route.path for route in leak_api().routes})
    ['/api/v1/competitions/{slug}/forecast', '/api/v1/competitions/{slug}/replay']
    """
    routes = APIRouter(
        prefix="/api/v1/competitions/{slug}",
        dependencies=[Depends(_only_host)],
        responses={code: {"model": ErrorAnswer} for code in (401, 403, 404, 409, 422, 429)},
    )

    @routes.get("/forecast", summary="What the rules are expected to give away")
    def told(request: Request, slug: str) -> dict[str, Any]:
        return _forecast(engine_of(request).board(slug)).to_json()

    @routes.post("/replay", summary="Attack a copy of the competition", status_code=202)
    def start(request: Request, slug: str, body: ReplayRequest) -> dict[str, Any]:
        _replays(request).start(engine_of(request), slug, submissions=body.submissions)
        return _state(request, slug)

    @routes.get("/replay", summary="How the latest replay stands")
    def state(request: Request, slug: str) -> dict[str, Any]:
        return _state(request, slug)

    return routes


def _only_host(who: Annotated[Identity, Depends(caller)]) -> None:
    if isinstance(who, Team):
        raise Forbidden("only the host may do this")
    if not isinstance(who, Host):
        raise Unauthorized("only the host may do this; send the token as Authorization: Bearer TOKEN")


def _replays(request: Request) -> Replays:
    replays: Replays = request.app.state.replays
    return replays


def _state(request: Request, slug: str) -> dict[str, Any]:
    engine_of(request).competition(slug)
    found = _replays(request).state(slug)
    if found is None:
        raise NotFound("no replay was started since the server began")
    return found.to_json()


@lru_cache(maxsize=16)
def _forecast(board: Board) -> Forecast:
    rows = len(board.index)
    try:
        prior = prior_of(board)
    except InvalidInput:  # labels that are no classes
        return forecast(board.setting, rows=rows)
    right = float((prior.argmax(axis=1) == board.labels.codes).mean())
    return forecast(board.setting, rows=rows, doubt=doubt_of(prior), known=right)
