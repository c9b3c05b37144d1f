"""The visitor of a page, and the visitor's permissions."""

from __future__ import annotations

from fastapi import Request

from tacit.server.cookies import SessionCookie
from tacit.server.engine import ScoringEngine
from tacit.server.errors import Forbidden, Unauthorized
from tacit.server.records import (
    AnonymousCaller,
    Competition,
    Host,
    Identity,
    Organizer,
    Role,
    Team,
    may_run,
    may_see,
)

__all__ = ["check_visible", "engine_of", "host_of", "runner_of", "session_of", "team_of", "visible", "visitor"]


def engine_of(request: Request) -> ScoringEngine:
    """Return the server's engine."""
    engine: ScoringEngine = request.app.state.engine
    return engine


def visitor(request: Request) -> Identity:
    """Return the visitor of a page: whoever signed in with this browser, perhaps just now."""
    found: Identity = getattr(request.state, "visitor", AnonymousCaller())
    return found


def session_of(request: Request) -> str | None:
    """Return the secret of the visitor's session, which may have begun with this request."""
    begun: str | None = getattr(request.state, "session", None)
    return begun or SessionCookie.of(engine_of(request).settings).read(request)


def host_of(request: Request) -> Host:
    """Return the host, or raise."""
    found = visitor(request)
    if isinstance(found, Host):
        return found
    if not isinstance(found, AnonymousCaller):
        raise Forbidden("only the host may see this page; sign in with the admin token")
    raise Unauthorized("only the host may see this page; sign in with the admin token")


def runner_of(request: Request, slug: str, role: Role) -> Host | Organizer:
    """Return the host, or an organizer of this competition with a role, or raise."""
    found = visitor(request)
    if isinstance(found, Host | Organizer) and may_run(found, slug, role):
        return found
    refusal = Unauthorized if isinstance(found, AnonymousCaller) else Forbidden
    raise refusal(f"only the host, or an organizer of this competition with the role {role}, may do this")


def team_of(request: Request, slug: str) -> Team:
    """Return the team of this competition, or raise."""
    found = visitor(request)
    if isinstance(found, Team) and found.competition == slug:
        return found
    raise Unauthorized("only a team of this competition may see this page; join with an invite or sign in")


def visible(request: Request, slug: str) -> Competition:
    """Return a competition whose scores the visitor may see, or raise."""
    found = engine_of(request).competition(slug)
    check_visible(request, found)
    return found


def check_visible(request: Request, competition: Competition) -> None:
    """Raise unless the visitor may see a competition's scores."""
    if not may_see(visitor(request), competition):
        raise Unauthorized("only the teams of this competition and the host may see it; sign in with your token")
