"""The scoring server: competitions whose labels are never released."""

from typing import TYPE_CHECKING

from tacit.privacy.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.server.app import create_app, serve
    from tacit.server.client import Client
    from tacit.server.engine import Engine
    from tacit.server.limits import Limits, Rate
    from tacit.server.rules import Rules
    from tacit.server.settings import Settings
    from tacit.server.terms import Terms

__all__ = ["Client", "Engine", "Limits", "Rate", "Rules", "Settings", "Terms", "create_app", "serve"]

__getattr__ = lazy_names(  # a client needs no web framework
    __name__,
    Client="client",
    Engine="engine",
    Limits="limits",
    Rate="limits",
    Rules="rules",
    Settings="settings",
    Terms="terms",
    create_app="app",
    serve="app",
)
