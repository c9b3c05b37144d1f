"""The checks of every request: size and rate limits, the headers of every answer, and one line of the log."""

from __future__ import annotations

import logging
import math
import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.server.bodies import BodyRoom, CountedBody, body_limit
from tacit.server.connections import network_of
from tacit.server.cookies import SessionCookie
from tacit.server.engine import ScoringEngine
from tacit.server.errors import ServerError, TooLarge, TooManyRequests, Unavailable
from tacit.server.limits import RateLimit
from tacit.server.metrics import ServerMetrics
from tacit.server.records import AnonymousCaller, Host, Identity, Organizer, Team
from tacit.server.tokens import hash_token

__all__ = ["RequestGuard", "caller", "token_of"]

_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "script-src 'self'; connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "cache-control": "no-store",
}
_HTTPS_ONLY = {"strict-transport-security": "max-age=31536000"}

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
    tokens cannot be guessed at speed. Only a caller who may send a file to a route may send more than a small body. The
    log has the route, never a path's own text, a query, a header or a body.
    """

    def __init__(
        self, app: ASGIApp, *, engine: Callable[[], ScoringEngine], room: BodyRoom, metrics: ServerMetrics
    ) -> None:
        self._app, self._engine, self._room, self._metrics = app, engine, room, metrics
        self._tokens: RateLimit | None = None
        self._addresses: RateLimit | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, number = perf_counter(), 500, secrets.token_hex(8)
        scope.setdefault("state", {})["request"] = number

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["x-request-id"] = number
                for name, value in (_HEADERS | self._transport_security()).items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._guarded(scope, receive, answer)
        finally:
            seconds = perf_counter() - began
            method, route = _asked(scope)
            self._metrics.observe(method=method, route=route, status=status, seconds=seconds)
            fields: dict[str, object] = {"request": number, "method": method, "route": route, "status": status}
            fields |= {"milliseconds": round(1000 * seconds, 1), "who": _caller(scope)}
            _log.info("request %s", fields, extra={"fields": fields})

    def _transport_security(self) -> dict[str, str]:
        """Tell browsers to come by HTTPS alone, where cookies do."""
        return _HTTPS_ONLY if self._engine().settings.secure_cookies else {}

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            limit = self._admit(scope)
            await self._pass_on(scope, CountedBody(receive, limit=limit), send, limit=limit)
        except TooManyRequests as refusal:
            wait = str(math.ceil(refusal.seconds))
            await _refusal(refusal, headers={"retry-after": wait})(scope, receive, send)
        except Unavailable as refusal:
            await _refusal(refusal, headers={"retry-after": "1", "connection": "close"})(scope, receive, send)
        except TooLarge as refusal:
            await _refusal(refusal, headers={"connection": "close"})(scope, receive, send)

    async def _pass_on(self, scope: Scope, body: CountedBody, send: Send, *, limit: int) -> None:
        """Let the application answer, unless the body turns out to be larger than the limit."""
        stated = _stated_length(scope)
        if stated is not None and stated > limit:
            raise body.refusal

        async def answer(message: Message) -> None:
            if not body.exceeded:
                await send(message)

        with self._room_for(scope, limit if stated is None else stated):
            try:
                await self._app(scope, body, answer)
            finally:
                if body.exceeded:  # whatever the application made of it
                    raise body.refusal

    def _room_for(self, scope: Scope, size: int) -> AbstractContextManager[None]:
        limits = self._engine().settings.limits
        if scope["method"] in _BODILESS or size <= limits.small_body:
            return nullcontext()
        document = Headers(scope=scope).get("content-type", "").startswith("application/json")
        return self._room.taken(size * (_DOCUMENT if document else 1), whose=_caller(scope))

    def _admit(self, scope: Scope) -> int:
        """Count the request, identify its caller, and return how many bytes it may have."""
        engine = self._engine()
        limits = engine.settings.limits
        headers = Headers(scope=scope)
        bearer = token_of(headers)
        session = SessionCookie.of(engine.settings).read(Request(scope))
        self._count(scope, engine, bearer or session)
        # the API takes the header alone: a browser sends a cookie by itself, and forms have their own mark
        state = scope.setdefault("state", {})
        state["identity"] = engine.identify(bearer)
        state["visitor"] = engine.visitor(session)
        return body_limit(scope["path"], state["identity"] if bearer else state["visitor"], limits)

    def _count(self, scope: Scope, engine: ScoringEngine, token: str | None) -> None:
        """Take the request from the bucket of its token or of its address."""
        if self._tokens is None or self._addresses is None:
            limits = engine.settings.limits
            self._tokens, self._addresses = RateLimit(limits.token_rate), RateLimit(limits.address_rate)
        if token is not None and engine.knows(token):
            wait = self._tokens.wait(hash_token(token).hex())
        else:
            wait = self._addresses.wait(network_of(scope.get("client")))
        if wait > 0:
            raise TooManyRequests("too many requests; wait and try again", seconds=wait)


_BODILESS = ("GET", "HEAD", "OPTIONS")
_DOCUMENT = 20
"""What a JSON document takes in memory, in bytes for each of its own."""


def _stated_length(scope: Scope) -> int | None:
    """Return the length that a request states; None if it states none."""
    stated = Headers(scope=scope).get("content-length", "")
    if stated.isdecimal():
        return int(stated[:20])
    return None if "transfer-encoding" in Headers(scope=scope) else 0


def _refusal(refusal: ServerError, *, headers: dict[str, str]) -> JSONResponse:
    return JSONResponse({"error": str(refusal)}, status_code=refusal.status, headers=headers)


def _asked(scope: Scope) -> tuple[str, str]:
    """Return the method and the route of a request, never its path's own text."""
    route: Any = scope.get("route")
    return scope["method"] if scope["method"] in _METHODS else "other", getattr(route, "path", "none")


def _caller(scope: Scope) -> str:
    """Return whose token or session it was."""
    state = scope.get("state", {})
    known = (state.get(name, AnonymousCaller()) for name in ("identity", "visitor"))
    return next((_who(one) for one in known if isinstance(one, Host | Organizer | Team)), "anyone")


def _who(identity: Host | Organizer | Team) -> str:
    return "host" if isinstance(identity, Host) else f"{type(identity).__name__.lower()} {identity.id}"


_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
