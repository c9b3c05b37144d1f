"""Pages that a browser has already: the same entity tag, and no page is made."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from fastapi import Request, Response

__all__ = ["answer_once"]

_PRIVATE = "private, no-cache"  # kept by the browser alone, which asks each time whether it is the newest


def answer_once(request: Request, *version: object, make: Callable[[], Response]) -> Response:
    """Return what is made, with a tag of its version; nothing but the tag where the caller has that version."""
    tag = f'"{hashlib.sha256(repr(version).encode()).hexdigest()[:32]}"'
    known = [one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")]
    response = Response(status_code=304) if tag in known else make()
    response.headers["etag"] = tag
    response.headers["cache-control"] = _PRIVATE
    return response
