"""Forms: their fields in memory, after a check that our own page sent them."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Request
from starlette.responses import Response

from tacit.privacy.errors import InvalidInput
from tacit.server.errors import Forbidden
from tacit.server.multipart import Take, read_parts
from tacit.server.pages.visitor import engine_of, host_of
from tacit.server.records import Host
from tacit.server.tokens import csrf_token, csrf_token_fits

__all__ = ["Form", "HostForm", "check_csrf", "csrf_for", "remember_visitor", "text_of"]

_VISITOR = "tacit_visitor"
"""A cookie of random text that ties a form to the browser it was shown in."""

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


Form = Annotated[dict[str, bytes], Depends(_read_form)]
HostForm = Annotated[dict[str, bytes], Depends(_read_host_form)]


def text_of(fields: Mapping[str, bytes], name: str) -> str:
    """Return a field as text without spaces around it; empty if it was not sent."""
    return fields.get(name, b"").decode("utf-8", errors="replace").strip()


def csrf_for(request: Request) -> str:
    """Return the hidden field of a form for this visitor, who gets a cookie if there is none."""
    visitor = request.cookies.get(_VISITOR) or getattr(request.state, "visitor", "") or secrets.token_urlsafe(32)
    request.state.visitor = visitor
    return csrf_token(engine_of(request).csrf_secret, visitor=visitor)


def remember_visitor(request: Request, response: Response) -> None:
    """Set the cookie that :func:`csrf_for` made up."""
    visitor = getattr(request.state, "visitor", "")
    if visitor and visitor != request.cookies.get(_VISITOR):
        secure = engine_of(request).settings.secure_cookies
        response.set_cookie(_VISITOR, visitor, httponly=True, samesite="strict", secure=secure)


def check_csrf(request: Request, token: str) -> None:
    """Raise unless the form was shown by this server to this browser."""
    secret = engine_of(request).csrf_secret
    if not csrf_token_fits(token, secret=secret, visitor=request.cookies.get(_VISITOR, "")):
        raise Forbidden("this form is too old or came from elsewhere; go back, reload the page and send it again")


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
