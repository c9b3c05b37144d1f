"""The scoring server: competitions whose labels are never released."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.server.app import create_app, serve
    from tacit.server.client import Client
    from tacit.server.engine import Engine
    from tacit.server.limits import Limits, Rate
    from tacit.server.settings import Settings
    from tacit.server.terms import Terms

__all__ = ["Client", "Engine", "Limits", "Rate", "Settings", "Terms", "create_app", "serve"]

# loaded when asked for: a client needs no web framework
_MODULES = {"Rate": "limits", "create_app": "app", "serve": "app"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES.get(name, name.lower())}"), name)
