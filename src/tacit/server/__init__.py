"""The scoring server: competitions whose labels are never released."""

from typing import TYPE_CHECKING

from tacit.privacy.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.server.app import create_app, serve
    from tacit.server.client import ServerClient
    from tacit.server.engine import ScoringEngine
    from tacit.server.limits import RequestRate, ServerLimits
    from tacit.server.rules import CompetitionPlan, Rules
    from tacit.server.settings import ServerSettings
    from tacit.server.terms import CompetitionTerms

__all__ = [
    "CompetitionPlan",
    "CompetitionTerms",
    "RequestRate",
    "Rules",
    "ScoringEngine",
    "ServerClient",
    "ServerLimits",
    "ServerSettings",
    "create_app",
    "serve",
]

__getattr__ = lazy_names(  # a client needs no web framework
    __name__,
    ServerClient="client",
    ScoringEngine="engine",
    ServerLimits="limits",
    RequestRate="limits",
    CompetitionPlan="rules",
    Rules="rules",
    ServerSettings="settings",
    CompetitionTerms="terms",
    create_app="app",
    serve="app",
)
