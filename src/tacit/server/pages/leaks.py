"""The page on which a host sees what a competition's rules leak: the forecast, and the live replay."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from tacit.privacy.errors import InvalidInput
from tacit.server.leaks import MOST_SUBMISSIONS, ReplayRunner, forecast_of
from tacit.server.pages.forms import ManagerForm, text_of
from tacit.server.pages.view import go_to, render
from tacit.server.pages.visitor import engine_of, runner_of

__all__ = ["add_leak_pages"]


def add_leak_pages(routes: APIRouter) -> None:
    """Add the page and the state that its script asks for."""

    @routes.get("/c/{slug}/leaks")
    def leaks(request: Request, slug: str) -> Response:
        runner_of(request, slug, "viewer")
        engine = engine_of(request)
        board = engine.board(slug)
        return render(
            request,
            "leaks.html",
            competition=engine.competition(slug),
            split=board.rules.is_split,
            told=forecast_of(board),
            state=_replays(request).state(slug),
            most=MOST_SUBMISSIONS,
        )

    @routes.post("/c/{slug}/leaks")
    def start(request: Request, slug: str, form: ManagerForm) -> Response:
        wanted = text_of(form, "submissions")
        if wanted and not wanted.isdecimal():
            raise InvalidInput(f"submissions must be an integer, got {wanted[:40]!r}")
        _replays(request).start(engine_of(request), slug, submissions=int(wanted) if wanted else None)
        return go_to(f"/c/{slug}/leaks#replay")

    @routes.get("/c/{slug}/leaks/state")
    def state(request: Request, slug: str) -> dict[str, Any]:
        runner_of(request, slug, "viewer")
        return _replays(request).state_json(engine_of(request).competition(slug).slug)


def _replays(request: Request) -> ReplayRunner:
    replays: ReplayRunner = request.app.state.replays
    return replays
