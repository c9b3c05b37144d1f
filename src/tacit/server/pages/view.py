"""Pages from templates, with the headers of every answer."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from functools import partial
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from jinja2 import Environment, PackageLoader, StrictUndefined

from tacit.privacy.errors import TacitError
from tacit.privacy.ledger.records import format_down
from tacit.privacy.rounding import format_up
from tacit.server.errors import status_of
from tacit.server.pages.forms import csrf_for, remember_visitor
from tacit.server.pages.markdown import from_markdown
from tacit.server.pages.visitor import visitor
from tacit.server.records import FinalPlace, Host, LeaderboardPlace, Organizer, ScoredSubmission, Team, may_run

__all__ = ["Page", "PageRoute", "go_to", "render"]


def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("tacit.server"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    made.filters["percent"] = lambda share: f"{100 * share:.1f}%"
    made.filters["moment"] = _moment
    made.filters["field"] = lambda time: "" if time is None else time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M")
    made.filters["markdown"] = from_markdown
    made.filters["size"] = lambda count: f"{count / 1024:,.0f} KiB" if count >= 1024 else f"{count} bytes"
    made.filters["number"] = lambda value: f"{value:,}"
    made.filters |= {"place": _place, "within": _within, "chance": _chance}
    made.filters |= {"up": format_up, "down": format_down}  # what was spent is never shown too small
    return made


def _moment(time: datetime | None) -> str:
    """Return a moment in UTC, and in the zone in which it was given."""
    if time is None:
        return ""
    told = time.astimezone(UTC).strftime("%d %b %Y, %H:%M UTC")
    return told if not time.utcoffset() else f"{told} ({time.strftime('%d %b, %H:%M')} at UTC{time:%z})"


def _place(place: LeaderboardPlace | FinalPlace) -> str:
    """Return a place, or the group of places that tied teams share."""
    return f"{place.rank}" if place.rank == place.last else f"{place.rank} to {place.last}"


def _within(score: ScoredSubmission | LeaderboardPlace | FinalPlace) -> str:
    """Return a score's interval in brackets, with the digits of the score; nothing where these tell as much."""
    if score.interval is None or not score.text:
        return ""
    digits = len(score.text.partition(".")[2])
    low, high = (f"{end:.{digits}f}" for end in score.interval)
    narrow = score.interval[1] - score.interval[0] < 1.5 * 10.0**-digits  # the digits say as much
    return "" if narrow or digits > _DIGITS else f" [{low}, {high}]"


def _chance(share: float | None) -> str:
    return "" if share is None else "over 99.9%" if share > 0.999 else f"{100 * share:.1f}%"


_DIGITS = 6

_ENVIRONMENT = _environment()


def render(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:  # noqa: ANN401
    """Return a page; a form's CSRF token and the visitor's role are always there."""
    who = visitor(request)
    page = _ENVIRONMENT.get_template(template).render(
        csrf=csrf_for(request),
        is_host=isinstance(who, Host),
        own=who if isinstance(who, Team) else None,
        organizer=who if isinstance(who, Organizer) else None,
        may_run=partial(may_run, who),
        here=request.url.path,
        **values,
    )
    response = HTMLResponse(page, status_code=status)
    remember_visitor(request, response)
    return response


def go_to(path: str) -> RedirectResponse:
    """Send the browser to a page after a form was taken, so that loading it again sends nothing twice."""
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
                return render(request, "error.html", status=status_of(refusal), sentence=_sentence(str(refusal)))
            except RequestValidationError:
                return render(request, "error.html", status=422, sentence="This address is not complete.")

        return handle


def _sentence(text: str) -> str:
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
