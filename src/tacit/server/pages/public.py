"""Pages for everybody: competitions, a leaderboard with its rules, joining, signing in and out."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from tacit.privacy.guarantee import AnyGuarantee, Guarantee
from tacit.privacy.rounding import format_up
from tacit.server.cookies import SessionCookie
from tacit.server.errors import Unauthorized
from tacit.server.exports import csv_of
from tacit.server.pages.feed import atom_feed
from tacit.server.pages.forms import Form, text_of
from tacit.server.pages.fresh import answer_once
from tacit.server.pages.plot import TEAMS_DRAWN, draw_history
from tacit.server.pages.view import go_to, render
from tacit.server.pages.visitor import check_visible, engine_of, session_of, visible, visitor
from tacit.server.records import AnonymousCaller, BoardView, Host, LeaderboardPlace, Organizer, Team
from tacit.server.reservation import final_guarantee, team_guarantee
from tacit.server.rules import Rules

__all__ = ["add_public_pages"]

_LONGEST = 256
_WEAK = 7.0
_PLACES, _STEPS = 50, 400


def add_public_pages(routes: APIRouter) -> None:
    """Add the pages that need no token."""
    for add in (_add_boards, _add_joining, _add_signing_in):
        add(routes)


def _add_boards(routes: APIRouter) -> None:
    @routes.get("/")
    def home(request: Request) -> Response:
        engine = engine_of(request)
        now = engine.settings.clock()
        shown = [one for one in engine.competitions() if not one.archived]
        return render(request, "home.html", competitions=shown, now=now)

    @routes.get("/c/{slug}")
    def competition(request: Request, slug: str, page: int = 1, sort: str = "place") -> Response:
        engine = engine_of(request)
        view = engine.view(slug, drawn=TEAMS_DRAWN, steps=_STEPS)
        check_visible(request, view.competition)
        if not isinstance(visitor(request), AnonymousCaller):  # what they see is not to be left in a browser
            return _board_page(request, view, page=page, sort=sort)
        is_open = view.competition.is_open(engine.settings.clock())
        seen = (view, page, sort, is_open)
        return answer_once(
            request, view.version, view.attachments, *seen[1:], make=lambda: _for_strangers(request, slug, seen)
        )

    @routes.get("/c/{slug}/leaderboard.csv")
    def leaderboard(request: Request, slug: str) -> Response:
        places = engine_of(request).leaderboard(visible(request, slug).slug)
        return _download(csv_of(map(_csv_row, places)), f"{slug}-leaderboard.csv", kind="text/csv")

    @routes.get("/c/{slug}/feed.atom")
    def feed(request: Request, slug: str) -> Response:
        visible(request, slug)
        engine = engine_of(request)
        view = engine.view(slug, drawn=TEAMS_DRAWN, steps=_STEPS)
        address = str(request.url.replace(path=f"/c/{slug}", query=""))
        content = atom_feed(view, address=address, now=engine.settings.clock())
        return answer_once(
            request, content, make=lambda: Response(content, media_type="application/atom+xml; charset=utf-8")
        )

    @routes.get("/c/{slug}/files/{name}")
    def attached(request: Request, slug: str, name: str) -> Response:
        visible(request, slug)
        return _download(engine_of(request).attached(slug, name), name, kind="application/octet-stream")

    @routes.get("/c/{slug}/features.csv")
    def features(request: Request, slug: str) -> Response:
        found = visible(request, slug)
        headers = {"content-disposition": f'attachment; filename="{found.slug}-features.csv"'}
        return Response(engine_of(request).features(slug), media_type="text/csv", headers=headers)


def _for_strangers(request: Request, slug: str, seen: tuple[BoardView, int, str, bool]) -> Response:
    """Return the page that everybody who is not signed in sees, made once for each version of it."""
    kept: dict[str, tuple[object, bytes]] = request.app.state.board_pages
    found = kept.get(slug)
    if found is None or found[0] != seen:
        view, page, sort, _ = seen
        found = kept[slug] = (seen, bytes(_board_page(request, view, page=page, sort=sort).body))
    return HTMLResponse(found[1])


@lru_cache(maxsize=256)
def _guarantees(rules: Rules) -> dict[str, Any]:
    """Return what is guaranteed to each label beside what one team's live scores are."""
    return {
        "everybody": team_guarantee(rules, teams=rules.teams),
        "final_guarantee": final_guarantee(rules),
        "final_everybody": final_guarantee(rules, scores=rules.teams),
    }


def _board_page(request: Request, view: BoardView, *, page: int, sort: str) -> Response:
    engine, found = engine_of(request), view.competition
    places = sorted(view.places, key=_ORDERS[sort]) if sort in _ORDERS else list(view.places)
    rules, pages = engine.board(found.slug).rules, max(1, math.ceil(len(view.places) / _PLACES))
    page = max(1, min(page, pages))
    return render(
        request,
        "competition.html",
        competition=found,
        public_fraction=rules.public_fraction,
        together=rules.together,
        spent=rules.live == "spent",
        **_guarantees(rules),
        places=places[_PLACES * (page - 1) : _PLACES * page],
        page=page,
        pages=pages,
        final=view.final,
        attachments=view.attachments,
        sort=sort,
        certain=any(place.ahead is not None for place in view.final),
        plot=draw_history(view.progress, lower_is_better=found.lower_is_better),
        open=found.is_open(engine.settings.clock()),
        odds=_odds(found.guarantee),
    )


_ORDERS: dict[str, Callable[[LeaderboardPlace], Any]] = {
    "team": lambda place: place.team.casefold(),
    "submissions": lambda place: -place.submissions,
    "when": lambda place: place.time,
}
"""How the board is sorted, where not by place; scores are in the order of places."""


def _csv_row(place: LeaderboardPlace) -> dict[str, Any]:
    low, high = place.interval or ("", "")
    return {
        "place": place.rank,
        "last_place": place.last,
        "team": place.team,
        "score": place.text,
        "low": low if low == "" else f"{low:.6g}",
        "high": high if high == "" else f"{high:.6g}",
        "submissions": place.submissions,
        "time": place.time.isoformat(),
    }


def _download(content: bytes, name: str, *, kind: str) -> Response:
    return Response(content, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'})


def _add_joining(routes: APIRouter) -> None:
    @routes.get("/join")
    def join_form(request: Request) -> Response:
        return render(request, "join.html")

    @routes.post("/join")
    def join(request: Request, form: Form) -> Response:
        engine = engine_of(request)
        joined = engine.register(_short(form, "invite"), name=_short(form, "name"))
        start = _start_session(request, joined.team)
        return start(render(request, "welcome.html", joined=joined))


def _add_signing_in(routes: APIRouter) -> None:
    @routes.get("/sign-in")
    def sign_in_form(request: Request) -> Response:
        return render(request, "sign_in.html")

    @routes.post("/sign-in")
    def take_token(request: Request, form: Form) -> Response:
        engine = engine_of(request)
        token = _short(form, "token")
        who = engine.identify(token)
        if isinstance(who, Host):
            return _start_session(request, who)(go_to("/host"))
        if isinstance(who, Organizer | Team):
            page = "team" if isinstance(who, Team) else "host"
            return _start_session(request, who)(go_to(f"/c/{who.competition}/{page}"))
        raise Unauthorized("this token is not known; look for spaces or a missing end, or ask the host for an invite")

    @routes.post("/sign-out")
    def sign_out(request: Request, form: Form) -> Response:
        del form
        response = go_to("/")
        if session := session_of(request):
            engine_of(request).sign_out(session)
            SessionCookie.of(engine_of(request).settings).remove(response)
        return response


def _start_session(request: Request, who: Host | Organizer | Team) -> Callable[[Response], Response]:
    """Sign the visitor in; the result gives the cookie to an answer, whose forms belong to the session already."""
    engine = engine_of(request)
    secret = engine.sign_in(who)
    request.state.session, request.state.visitor = secret, who

    def start(response: Response) -> Response:
        SessionCookie.of(engine.settings).write(response, secret)
        return response

    return start


def _odds(guarantee: AnyGuarantee) -> str:
    """Return e^epsilon in words; empty without a guarantee."""
    if not isinstance(guarantee, Guarantee):
        return ""
    if guarantee.epsilon > _WEAK:
        power = f"e^{format_up(guarantee.epsilon)}"
        return f"a factor of {power}: a weak guarantee where one team turns all its scores on one label"
    factor = math.exp(guarantee.epsilon)
    return f"a factor of {math.ceil(factor * 100) / 100:.2f}" if factor < 10 else f"a factor of {math.ceil(factor):,}"


def _short(form: dict[str, bytes], name: str) -> str:
    return text_of(form, name)[:_LONGEST]
