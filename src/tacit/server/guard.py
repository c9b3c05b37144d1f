"""The checks of every request: size and rate limits, the headers of every answer, and one line of the log."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from time import perf_counter
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.server.engine import ScoringEngine
from tacit.server.errors import TooLarge, TooManyRequests
from tacit.server.limits import RateLimit
from tacit.server.records import AnonymousCaller, Host, Identity, Team
from tacit.server.tokens import hash_token

__all__ = ["COOKIE", "RequestGuard", "caller", "token_of"]

COOKIE = "tacit_token"
"""The cookie in which a page keeps its visitor's token: HttpOnly and SameSite=Strict."""

_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "script-src 'self'; connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "cache-control": "no-store",
}

_log = logging.getLogger("tacit.server.access")


def token_of(headers: Headers) -> str | None:
    """Return the token of an ``Authorization: Bearer`` header."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" and token.strip() else None


async def caller(request: Request) -> Identity:
    """Return who sent a request; pages may set another identity, from their cookie."""
    found: Identity = getattr(request.state, "identity", AnonymousCaller())
    return found


class RequestGuard:
    """The outermost layer: limits before anything is read, headers and a log line after.

    A known token has a bucket of its own; everything else is counted by address, before the database is asked, so that
    tokens cannot be guessed at speed. The log has the route, never a path's own text, a query, a header or a body.
    """

    def __init__(self, app: ASGIApp, *, engine: Callable[[], ScoringEngine]) -> None:
        self._app, self._engine = app, engine
        self._tokens: RateLimit | None = None
        self._addresses: RateLimit | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = perf_counter(), 500

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._guarded(scope, receive, answer)
        finally:
            fields = _fields(scope, status=status, seconds=perf_counter() - began)
            _log.info("request %s", fields, extra={"fields": fields})

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        engine = self._engine()
        limit = engine.settings.limits.body
        headers = Headers(scope=scope)
        try:
            self._identify(scope, headers, engine)
            told = headers.get("content-length", "0")
            if told.isdecimal() and int(told[:20]) > limit:
                raise _too_large(limit)
        except TooManyRequests as refusal:
            wait = str(math.ceil(refusal.seconds))
            await _refusal(refusal, headers={"retry-after": wait})(scope, receive, send)
            return
        except TooLarge as refusal:
            await _refusal(refusal, headers={"connection": "close"})(scope, receive, send)
            return
        counted = _CountedBody(receive, limit=limit)

        async def answer(message: Message) -> None:
            if not counted.exceeded:
                await send(message)

        try:
            await self._app(scope, counted, answer)
        finally:
            if counted.exceeded:  # whatever the application made of it
                await _refusal(_too_large(limit), headers={"connection": "close"})(scope, receive, send)

    def _identify(self, scope: Scope, headers: Headers, engine: ScoringEngine) -> None:
        """Count the request and identify its caller."""
        if self._tokens is None or self._addresses is None:
            limits = engine.settings.limits
            self._tokens, self._addresses = RateLimit(limits.token_rate), RateLimit(limits.address_rate)
        token = token_of(headers) or Request(scope).cookies.get(COOKIE)
        if token is not None and engine.knows(token):
            wait = self._tokens.wait(hash_token(token).hex())
        else:
            client = scope.get("client") or ("unknown", 0)
            wait = self._addresses.wait(str(client[0]))
        if wait > 0:
            raise TooManyRequests("too many requests; wait and try again", seconds=wait)
        # the API takes the header alone: a browser sends a cookie by itself, and forms have their own mark
        bearer = token_of(headers)
        state = scope.setdefault("state", {})
        state["identity"] = engine.identify(bearer) if bearer is not None else AnonymousCaller()


class _CountedBody:
    """Pass on the body, up to the limit, because the stated length may be wrong or absent."""

    def __init__(self, receive: Receive, *, limit: int) -> None:
        self._receive, self._limit, self._taken = receive, limit, 0

    @property
    def exceeded(self) -> bool:
        """Whether the body exceeds the limit."""
        return self._taken > self._limit

    async def __call__(self) -> Message:
        """Receive the next message."""
        message = await self._receive()
        self._taken += len(message.get("body", b""))
        if self.exceeded:
            raise _too_large(self._limit)
        return message


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"a request must have at most {limit} bytes")


def _refusal(refusal: TooLarge | TooManyRequests, *, headers: dict[str, str]) -> JSONResponse:
    return JSONResponse({"error": str(refusal)}, status_code=refusal.status, headers=headers)


def _fields(scope: Scope, *, status: int, seconds: float) -> dict[str, object]:
    route: Any = scope.get("route")
    who = scope.get("state", {}).get("identity")
    name = {Host: "host", Team: "team"}.get(type(who), "anyone")
    return {
        "method": scope["method"] if scope["method"] in _METHODS else "other",
        "route": getattr(route, "path", "none"),
        "status": status,
        "milliseconds": round(1000 * seconds, 1),
        "who": f"team {who.id}" if isinstance(who, Team) else name,
    }


_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
