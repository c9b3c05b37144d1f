"""Forms: their fields in memory, and the mark that they came from our own page."""

from __future__ import annotations

import secrets
from urllib.parse import parse_qsl

from fastapi import Request
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.responses import Response

from tacit.privacy.errors import InvalidInput
from tacit.scores.server.errors import Forbidden
from tacit.scores.server.tokens import form_mark, form_mark_fits

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
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    body = await request.body()
    if kind == b"application/x-www-form-urlencoded":
        return _urlencoded(body)
    boundary = options.get(b"boundary")
    if kind != b"multipart/form-data" or not boundary:
        raise InvalidInput("a form must be sent as the page sends it")
    parts = _Parts()
    try:
        parser = MultipartParser(boundary, parts.callbacks())  # type: ignore[arg-type]
        parser.write(body)
        parser.finalize()
    except FormParserError:
        raise InvalidInput("the form did not arrive whole; send it again") from None
    return parts.fields


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


class _Parts:
    """Callbacks of the parser: each part's name and content."""

    def __init__(self) -> None:
        self.fields: dict[str, bytes] = {}
        self._header = self._value = self._disposition = b""
        self._content: list[bytes] = []

    def callbacks(self) -> dict[str, object]:
        return {
            "on_part_begin": self._begin,
            "on_header_field": self._take_header,
            "on_header_value": self._take_value,
            "on_header_end": self._end_header,
            "on_part_data": self._take_data,
            "on_part_end": self._end,
        }

    def _begin(self) -> None:
        self._header = self._value = self._disposition = b""
        self._content = []

    def _take_header(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _take_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _end_header(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = self._value
        self._header = self._value = b""

    def _take_data(self, data: bytes, start: int, end: int) -> None:
        self._content.append(data[start:end])

    def _end(self) -> None:
        if len(self.fields) >= _MOST_FIELDS:
            raise InvalidInput("the form has too many fields")
        name = parse_options_header(self._disposition)[1].get(b"name", b"").decode("utf-8", errors="replace")
        self.fields[name] = b"".join(self._content)
