"""The web application: the API, the pages, and what holds for every request."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from tacit import __version__
from tacit.privacy.errors import TacitError
from tacit.server.api import router
from tacit.server.bodies import BodyRoom
from tacit.server.engine import ScoringEngine
from tacit.server.errors import status_of
from tacit.server.guard import RequestGuard
from tacit.server.leaks import ReplayRunner
from tacit.server.log import write_log
from tacit.server.metrics import ServerMetrics
from tacit.server.pages import add_pages
from tacit.server.settings import ServerSettings

if TYPE_CHECKING:
    import uvicorn

__all__ = ["configured", "create_app", "running", "serve"]

_log = logging.getLogger("tacit.server")
_PATIENCE = 20.0  # seconds to wait for a server of this process to start or to stop


def create_app(source: ServerSettings | ScoringEngine) -> FastAPI:
    """Return the application.

    Parameters
    ----------
    source
        Settings: the engine is opened when the server starts and closed, with everything queued written, when it stops.
        An engine: it is used unchanged, and its owner closes it.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        engine = ScoringEngine.open(source) if isinstance(source, ServerSettings) else source
        app.state.engine = engine
        yield
        if isinstance(source, ServerSettings):
            engine.close()

    app = FastAPI(
        title="tacit scoring server",
        version=__version__,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # FastAPI's own pages load scripts from elsewhere; ours is among the pages
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.settings = source if isinstance(source, ServerSettings) else source.settings
    if isinstance(source, ScoringEngine):
        app.state.engine = source
    app.state.replays = ReplayRunner(running)
    app.state.metrics, app.state.room = ServerMetrics(), BodyRoom(app.state.settings.limits.room)
    app.state.connections = Counter()
    app.include_router(router())
    add_pages(app)
    _add_refusals(app)
    app.add_middleware(RequestGuard, engine=lambda: app.state.engine, room=app.state.room, metrics=app.state.metrics)
    return app


def serve(
    source: ServerSettings | ScoringEngine, *, host: str = "127.0.0.1", port: int = 8000, log: bool = True
) -> None:
    """Run the application until it is asked to stop; requests under way and all that is queued are finished.

    Parameters
    ----------
    host, port
        Where to listen; the default is reached from this machine alone.
    log
        Whether each request writes one line of JSON to standard error.
    """
    if log:
        write_log()
    configured(create_app(source), host=host, port=port).run()


def configured(app: FastAPI, *, host: str = "127.0.0.1", port: int = 8000) -> uvicorn.Server:
    """Return the server that runs an application, with bounded connections."""
    import uvicorn

    from tacit.server.connections import bounded_protocol

    settings: ServerSettings = app.state.settings
    return uvicorn.Server(
        uvicorn.Config(
            app,
            host=host,
            port=port,
            loop="asyncio",  # uvloop accepts one connection a turn: the last of 64 at once waits for seconds
            http=bounded_protocol(settings.limits, held=app.state.connections, trusted=settings.trusted_proxies),
            proxy_headers=bool(settings.trusted_proxies),
            forwarded_allow_ips=list(settings.trusted_proxies),
            access_log=False,  # uvicorn's has whole paths; ours has routes
            log_level="warning",
            server_header=False,
            limit_concurrency=4_000,
            timeout_graceful_shutdown=30,
        )
    )


@contextmanager
def running(engine: ScoringEngine) -> Iterator[str]:
    """Serve an engine on a free port of this machine; the value is its address."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = configured(create_app(engine))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            latest = time.monotonic() + _PATIENCE
            while not server.started:
                if not thread.is_alive() or time.monotonic() > latest:
                    raise TacitError("the competition could not be served on this machine")
                time.sleep(0.01)
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(timeout=_PATIENCE)


def _add_refusals(app: FastAPI) -> None:
    """Answer every error with one sentence, and an unexpected one without any of its text."""

    @app.exception_handler(TacitError)
    def refuse(request: Request, error: TacitError) -> Response:
        status = status_of(error)
        if status >= 500:
            _note(request, error.__cause__ or error)
        return JSONResponse({"error": str(error)}, status_code=status)

    @app.exception_handler(RequestValidationError)
    def refuse_invalid(request: Request, error: RequestValidationError) -> Response:
        del request
        return JSONResponse({"error": _sentence(error)}, status_code=422)

    @app.exception_handler(HTTPException)
    def refuse_plainly(request: Request, error: HTTPException) -> Response:
        del request
        return JSONResponse({"error": str(error.detail)}, status_code=error.status_code, headers=error.headers)

    @app.exception_handler(ClientDisconnect)
    def nobody_listens(request: Request, error: ClientDisconnect) -> Response:
        del request, error
        return Response(status_code=400)

    @app.exception_handler(Exception)
    def fail(request: Request, error: Exception) -> Response:
        _note(request, error)
        return JSONResponse({"error": "the server failed; this was logged"}, status_code=500)


def _note(request: Request, error: BaseException) -> None:
    """Log which request failed, and the kind of the error, whose text may quote what must not be read."""
    kind, number = type(error).__name__, getattr(request.state, "request", "")
    _log.error("request %s failed: %s", number, kind, extra={"fields": {"request": number, "failed": kind}})


def _sentence(error: RequestValidationError) -> str:
    """Return where a document is wrong and what is expected, never what was sent."""
    first = error.errors()[0]
    where = ".".join(str(part)[:40] for part in first.get("loc", ()))
    return f"{where}: {first.get('msg', 'not valid')}"[:300]
