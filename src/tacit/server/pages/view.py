"""How a page is made: who asks, the template, and what every answer carries."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from jinja2 import Environment, PackageLoader, StrictUndefined

from tacit.privacy.errors import BudgetExceeded, TacitError
from tacit.privacy.ledger.records import format_down
from tacit.privacy.rounding import format_up
from tacit.server.engine import Engine
from tacit.server.errors import Forbidden, ServerError, Unauthorized
from tacit.server.pages.forms import mark_for, remember_visitor
from tacit.server.records import Competition, Host, Identity, Team
from tacit.server.security import COOKIE

__all__ = ["Page", "PageRoute", "engine_of", "go_to", "host_of", "render", "team_of", "visible", "visitor"]


def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("tacit.server"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    made.filters["percent"] = lambda share: f"{100 * share:.1f}%"
    made.filters["moment"] = _moment
    made.filters["number"] = lambda value: f"{value:,}"
    made.filters |= {"up": format_up, "down": format_down}  # what was spent is never shown too small
    return made


def _moment(time: datetime | None) -> str:
    return "" if time is None else time.strftime("%d %b %Y, %H:%M UTC")


_ENVIRONMENT = _environment()


def engine_of(request: Request) -> Engine:
    """Return the server's engine."""
    engine: Engine = request.app.state.engine
    return engine


def visitor(request: Request) -> Identity:
    """Return who looks at a page: who just joined, or whose token is in the cookie."""
    joined: Team | None = getattr(request.state, "joined", None)
    return joined or engine_of(request).identify(request.cookies.get(COOKIE))


def host_of(request: Request) -> Host:
    """Return the host, or raise."""
    found = visitor(request)
    if isinstance(found, Host):
        return found
    if isinstance(found, Team):
        raise Forbidden("only the host may see this page; sign in with the admin token")
    raise Unauthorized("only the host may see this page; sign in with the admin token")


def team_of(request: Request, slug: str) -> Team:
    """Return the team of this competition, or raise."""
    found = visitor(request)
    if isinstance(found, Team) and found.competition == slug:
        return found
    raise Unauthorized("only a team of this competition may see this page; join with an invite or sign in")


def visible(request: Request, slug: str) -> Competition:
    """Return a competition whose scores the visitor may see, or raise."""
    found = engine_of(request).competition(slug)
    who = visitor(request)
    if found.public or isinstance(who, Host) or (isinstance(who, Team) and who.competition == slug):
        return found
    raise Unauthorized("only the teams of this competition and the host may see it; sign in with your token")


def render(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:  # noqa: ANN401
    """Return a page; a form's mark and the visitor's role are always there."""
    engine = engine_of(request)
    who = visitor(request)
    page = _ENVIRONMENT.get_template(template).render(
        mark=mark_for(request, engine.form_secret),
        is_host=isinstance(who, Host),
        own=who if isinstance(who, Team) else None,
        here=request.url.path,
        **values,
    )
    response = HTMLResponse(page, status_code=status)
    remember_visitor(request, response, secure=engine.settings.secure_cookies)
    return response


def go_to(path: str) -> RedirectResponse:
    """Send the browser to a page after a form was taken, so that loading it anew sends nothing twice."""
    return RedirectResponse(path, status_code=303)


Page = Callable[[Request], Coroutine[Any, Any, Response]]


class PageRoute(APIRoute):
    """A route whose refusals are pages, not JSON."""

    def get_route_handler(self) -> Page:
        """Return the handler with refusals turned into pages."""
        inner = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await inner(request)
            except TacitError as refusal:
                status = refusal.status if isinstance(refusal, ServerError) else 422
                status = 409 if isinstance(refusal, BudgetExceeded) else status
                return render(request, "error.html", status=status, sentence=_sentence(str(refusal)))
            except RequestValidationError:
                return render(request, "error.html", status=422, sentence="This address is not complete.")

        return handle


def _sentence(text: str) -> str:
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
