"""A team's page: upload a file, see the released scores and what is left of the budget."""

from __future__ import annotations

import asyncio
import math
from functools import partial

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from tacit.privacy.errors import TacitError
from tacit.server.errors import status_of
from tacit.server.intake import read_predictions
from tacit.server.pages.forms import Form, check_csrf, text_of
from tacit.server.pages.view import go_to, render
from tacit.server.pages.visitor import engine_of, team_of
from tacit.server.records import Team

__all__ = ["add_team_pages"]

_SHOWN = 100


def add_team_pages(routes: APIRouter) -> None:
    """Add the pages of a team."""

    @routes.get("/c/{slug}/team")
    def team(request: Request, slug: str) -> Response:
        return _team_page(request, team_of(request, slug))

    @routes.post("/c/{slug}/team")
    async def submit(request: Request, slug: str) -> Response:
        engine = engine_of(request)
        own = await run_in_threadpool(team_of, request, slug)
        board = await run_in_threadpool(engine.board, slug)
        try:
            predictions, fields = await read_predictions(request, board, engine)
            check_csrf(request, fields.get("csrf", ""))
            send = partial(engine.submit, own, predictions, note=fields.get("note", "").strip())
            queued = await run_in_threadpool(send)
            score = await asyncio.shield(asyncio.wrap_future(queued))
        except TacitError as refusal:
            status = status_of(refusal)
            return await run_in_threadpool(_team_page, request, own, error=str(refusal), status=status)
        return go_to(f"/c/{slug}/team?score={score.number}#scores")

    @routes.post("/c/{slug}/choice")
    def choose(request: Request, slug: str, form: Form) -> Response:
        own, written = team_of(request, slug), text_of(form, "number")
        number = int(written[:9]) if written.isdecimal() else None
        engine_of(request).choose_final(own, number)
        return go_to(f"/c/{slug}/team#scores")

    @routes.get("/c/{slug}/submissions/{number}.csv")
    def own_file(request: Request, slug: str, number: int) -> Response:
        content = engine_of(request).submitted_file(team_of(request, slug), number)
        headers = {"content-disposition": f'attachment; filename="{slug}-{number}.csv"'}
        return Response(content, media_type="text/csv", headers=headers)


def _team_page(request: Request, team: Team, *, error: str | None = None, status: int = 200) -> Response:
    engine = engine_of(request)
    competition, remaining = engine.competition(team.competition), engine.remaining(team)
    made = competition.submissions - (remaining.total or 0)
    pages = max(1, math.ceil(made / _SHOWN))
    page = min(max(1, int(text) if (text := request.query_params.get("page", "1")).isdecimal() else 1), pages)
    scores = engine.own_scores(team, most=_SHOWN, skip=_SHOWN * (page - 1))
    number = request.query_params.get("score", "")
    fresh = next((score for score in scores if str(score.number) == number), None)
    return render(
        request,
        "team.html",
        status=status,
        competition=competition,
        scores=scores[::-1],
        remaining=remaining,
        page=page,
        pages=pages,
        made=made,
        ranked=remaining.chosen or made,
        fresh=fresh if error is None else None,
        error=error,
        open=competition.is_open(engine.settings.clock()),
        split=engine.board(team.competition).rules.is_split,
    )
