"""Every page of the server, and the files they load."""

from __future__ import annotations

from importlib.resources import files

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import JSONResponse

from tacit.server.errors import NotFound
from tacit.server.pages.host import add_host_pages
from tacit.server.pages.leaks import add_leak_pages
from tacit.server.pages.manage import add_manage_pages
from tacit.server.pages.public import add_public_pages
from tacit.server.pages.team import add_team_pages
from tacit.server.pages.view import PageRoute, render

__all__ = ["add_pages"]

_STATIC = {"style.css": "text/css; charset=utf-8", "replay.js": "text/javascript; charset=utf-8"}


def add_pages(app: FastAPI) -> None:
    """Add the pages to the application."""
    routes = APIRouter(route_class=PageRoute, include_in_schema=False)
    app.state.board_pages = {}
    for add in (add_public_pages, add_team_pages, add_host_pages, add_manage_pages, add_leak_pages):
        add(routes)

    @routes.get("/static/{name}")
    def static(name: str) -> Response:
        if name not in _STATIC:
            raise NotFound("there is no such file")
        content = files("tacit.server").joinpath("static", name).read_bytes()
        return Response(content, media_type=_STATIC[name], headers={"cache-control": "max-age=3600"})

    @routes.get("/api/v1/docs")
    def reference(request: Request) -> Response:
        return render(request, "reference.html", description=app.openapi())

    @app.exception_handler(404)
    def not_found(request: Request, error: Exception) -> Response:
        if request.url.path.startswith("/api/"):
            return JSONResponse({"error": str(getattr(error, "detail", "Not Found"))}, status_code=404)
        return render(request, "error.html", status=404, sentence="There is no such page.")

    app.include_router(routes)
