"""Forms: their fields in memory, and the mark that they came from our own page."""

from __future__ import annotations

import secrets
from urllib.parse import parse_qsl

from fastapi import Request
from starlette.responses import Response

from tacit.privacy.errors import InvalidInput
from tacit.server.errors import Forbidden
from tacit.server.multipart import Take, read_parts
from tacit.server.tokens import form_mark, form_mark_fits

__all__ = ["VISITOR", "check_mark", "mark_for", "read_form", "remember_visitor"]

VISITOR = "tacit_visitor"
"""A cookie of random text that ties a form to the browser it was shown in."""

MARK = "mark"
_MOST_FIELDS = 60


async def read_form(request: Request) -> dict[str, bytes]:
    """Return a form's fields and files, all in memory: labels must not pass through a temporary file.

    The size of a request is limited before it is read; a file's own name is not looked at.

    Examples
    --------
    >>> read_form.__name__
    'read_form'
    """
    content_type = request.headers.get("content-type", "")
    if content_type.partition(";")[0].strip().lower() == "application/x-www-form-urlencoded":
        return _urlencoded(await request.body())
    parts: dict[str, list[bytes]] = {}

    def open_part(name: str, is_file: bool) -> Take:
        del is_file
        if len(parts) >= _MOST_FIELDS:
            raise InvalidInput("the form has too many fields")
        parts[name] = []
        return parts[name].append

    await read_parts(request.stream(), content_type=content_type, open_part=open_part)
    return {name: b"".join(pieces) for name, pieces in parts.items()}


def mark_for(request: Request, secret: bytes) -> str:
    """Return the hidden field of a form for this visitor, who gets a cookie if there is none."""
    visitor = request.cookies.get(VISITOR) or getattr(request.state, "visitor", "") or secrets.token_urlsafe(32)
    request.state.visitor = visitor
    return form_mark(secret, visitor=visitor)


def remember_visitor(request: Request, response: Response, *, secure: bool) -> None:
    """Set the cookie that :func:`mark_for` made up."""
    visitor = getattr(request.state, "visitor", "")
    if visitor and visitor != request.cookies.get(VISITOR):
        response.set_cookie(VISITOR, visitor, httponly=True, samesite="strict", secure=secure)


def check_mark(request: Request, fields: dict[str, bytes] | dict[str, str], secret: bytes) -> None:
    """Raise unless the form was shown by this server to this browser."""
    sent = fields.get(MARK, "")
    text = sent.decode("utf-8", errors="replace") if isinstance(sent, bytes) else sent
    if not form_mark_fits(text, secret=secret, visitor=request.cookies.get(VISITOR, "")):
        raise Forbidden("this form is too old or came from elsewhere; go back, load the page anew and send it again")


def _urlencoded(body: bytes) -> dict[str, bytes]:
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise InvalidInput("a form must be sent as the page sends it") from None
    return {name: value.encode("utf-8", errors="replace") for name, value in pairs}
