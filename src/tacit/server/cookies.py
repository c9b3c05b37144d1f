"""The cookies of the pages: of one browser and one host name, out of reach of scripts and of other sites."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from starlette.requests import Request
from starlette.responses import Response

from tacit.server.settings import ServerSettings

__all__ = ["SessionCookie", "VisitorCookie"]


@dataclass(frozen=True, slots=True)
class SessionCookie:
    """The secret of a session.

    Over HTTPS its name begins with ``__Host-``: browsers then take it from this host name alone.
    """

    secure: bool
    stem: ClassVar[str] = "tacit_session"

    @classmethod
    def of(cls, settings: ServerSettings) -> Self:
        """Return the cookie of a server."""
        return cls(settings.secure_cookies)

    @property
    def name(self) -> str:
        """The cookie's name."""
        return f"__Host-{self.stem}" if self.secure else self.stem

    def read(self, request: Request) -> str | None:
        """Return what the browser sent."""
        return request.cookies.get(self.name)

    def write(self, response: Response, value: str) -> None:
        """Give it to the browser."""
        response.set_cookie(self.name, value, httponly=True, samesite="strict", secure=self.secure)

    def remove(self, response: Response) -> None:
        """Take it from the browser."""
        response.delete_cookie(self.name, httponly=True, samesite="strict", secure=self.secure)


class VisitorCookie(SessionCookie):
    """Random text that ties a form to a browser without a session."""

    stem: ClassVar[str] = "tacit_visitor"
