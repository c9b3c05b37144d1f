"""Forms: their fields in memory, after a check that our own page sent them."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Annotated
from urllib.parse import parse_qsl
from zoneinfo import ZoneInfo

from fastapi import Depends, Request
from starlette.responses import Response

from tacit.privacy.errors import InvalidInput
from tacit.server.cookies import VisitorCookie
from tacit.server.errors import Forbidden
from tacit.server.multipart import Take, read_parts
from tacit.server.pages.visitor import engine_of, host_of, runner_of, session_of
from tacit.server.records import Host, Role
from tacit.server.tokens import csrf_token, csrf_token_fits

__all__ = [
    "Form",
    "HostForm",
    "ManagerForm",
    "OwnerForm",
    "check_csrf",
    "check_sure",
    "csrf_for",
    "moment_of",
    "remember_visitor",
    "text_of",
]

_CSRF = "csrf"
_MOST_FIELDS = 60


async def _read_form(request: Request) -> dict[str, bytes]:
    """Return the fields and files of a form that this server showed to this browser.

    All of it stays in memory: labels must not pass through a temporary file, as Starlette's own reader would have it.
    The size of a request is limited before it is read; a file's own name is not looked at.
    """
    content_type = request.headers.get("content-type", "")
    if content_type.partition(";")[0].strip().lower() == "application/x-www-form-urlencoded":
        fields = _urlencoded(await request.body())
    else:
        fields = await _multipart(request, content_type)
    check_csrf(request, text_of(fields, _CSRF))
    return fields


async def _read_host_form(request: Request, host: Annotated[Host, Depends(host_of)]) -> dict[str, bytes]:
    """Return the form of a host; nothing is read for anyone else."""
    del host
    return await _read_form(request)


def _form_of(role: Role) -> Callable[..., Awaitable[dict[str, bytes]]]:
    """Return what reads the form of the host or of an organizer with a role; nothing is read for anyone else."""

    async def read(request: Request, slug: str) -> dict[str, bytes]:
        runner_of(request, slug, role)
        return await _read_form(request)

    return read


Form = Annotated[dict[str, bytes], Depends(_read_form)]
HostForm = Annotated[dict[str, bytes], Depends(_read_host_form)]
ManagerForm = Annotated[dict[str, bytes], Depends(_form_of("manager"))]
OwnerForm = Annotated[dict[str, bytes], Depends(_form_of("owner"))]


def check_sure(fields: Mapping[str, bytes]) -> None:
    """Raise unless the box is ticked that stands beside what cannot be undone."""
    if text_of(fields, "sure") != "yes":
        raise InvalidInput("this cannot be undone: go back, tick the box, and send the form again")


def text_of(fields: Mapping[str, bytes], name: str) -> str:
    """Return a field as text without spaces around it; empty if it was not sent."""
    return fields.get(name, b"").decode("utf-8", errors="replace").strip()


def moment_of(given: Mapping[str, str], name: str) -> datetime | None:
    """Return a field as a moment in UTC; None where it is empty."""
    if not given[name]:
        return None
    zone = _zone(given.get("zone") or "UTC")
    try:
        local = datetime.fromisoformat(given[name]).replace(tzinfo=zone)
    except ValueError:
        raise InvalidInput(f"{name} must be a date and time as 2026-12-31T23:59, got {given[name][:40]!r}") from None
    return local.replace(tzinfo=timezone(local.utcoffset() or timedelta()))  # stored with its distance from UTC


def _zone(name: str) -> tzinfo:
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        raise InvalidInput(f"must be a time zone as Europe/Berlin, got {name[:40]!r}", field="zone") from None


def csrf_for(request: Request) -> str:
    """Return the hidden field of a form for this visitor, who gets a cookie if there is neither one nor a session."""
    request.state.browser = _browser(request) or secrets.token_urlsafe(32)
    return csrf_token(engine_of(request).csrf_secret, visitor=request.state.browser)


def remember_visitor(request: Request, response: Response) -> None:
    """Set the cookie that :func:`csrf_for` made up."""
    made = getattr(request.state, "browser", "")
    if made and made not in (session_of(request), _visitor_cookie(request).read(request)):
        _visitor_cookie(request).write(response, made)


def check_csrf(request: Request, token: str) -> None:
    """Raise unless the form was shown by this server to this browser, in this session."""
    if not csrf_token_fits(token, secret=engine_of(request).csrf_secret, visitor=_browser(request)):
        raise Forbidden("this form is too old or came from elsewhere; go back, reload the page and send it again")


def _browser(request: Request) -> str:
    """Return what only this browser has: its session, or the cookie of a visitor without one."""
    made: str = getattr(request.state, "browser", "")
    return session_of(request) or made or _visitor_cookie(request).read(request) or ""


def _visitor_cookie(request: Request) -> VisitorCookie:
    return VisitorCookie.of(engine_of(request).settings)


async def _multipart(request: Request, content_type: str) -> dict[str, bytes]:
    parts: dict[str, list[bytes]] = {}

    def open_part(name: str, is_file: bool) -> Take:
        del is_file
        if len(parts) >= _MOST_FIELDS:
            raise InvalidInput("the form has too many fields")
        parts[name] = []
        return parts[name].append

    await read_parts(request.stream(), content_type=content_type, open_part=open_part)
    return {name: b"".join(pieces) for name, pieces in parts.items()}


def _urlencoded(body: bytes) -> dict[str, bytes]:
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise InvalidInput("a form must be sent as the page sends it") from None
    return {name: value.encode("utf-8", errors="replace") for name, value in pairs}
