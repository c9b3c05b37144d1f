"""Names of a package that are imported when they are first used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["lazy_names"]


def lazy_names(package: str, **homes: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package, so that importing it loads only what is used.

    Parameters
    ----------
    homes
        The module inside the package that defines each name.
    """

    def get(name: str) -> Any:  # noqa: ANN401
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return get
