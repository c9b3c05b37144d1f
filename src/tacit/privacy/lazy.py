"""Names of a package, and methods of a class, that are imported when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["is_a", "lazy_method", "lazy_names", "surface_names"]


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


def surface_names(package: str, *, learn: str = "learners.learn") -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a surface's package: the five names that every surface exports."""
    return lazy_names(
        package,
        Plan="plan",
        Release="releases.release",
        protect="releases.protect",
        learn=learn,
        attack="attacks.attack",
    )


def lazy_method(module: str, function: str) -> Callable[..., Any]:
    """Return a function of a module as a method: a method of learning or attack names here what carries it out.

    So a new method is one class and its function; nothing else lists the two, and naming a method imports neither.
    The function gets the method first, unless this is made a ``staticmethod``.
    """

    def call(*given: Any, **options: Any) -> Any:  # noqa: ANN401
        return getattr(import_module(module), function)(*given, **options)

    call.__doc__ = f"Call ``{function}`` of ``{module}``."
    return call


def is_a(value: object, module: str, kind: str) -> bool:
    """Return whether a value is of a module's class; whoever made such a value has imported the module."""
    imported = sys.modules.get(module)
    return imported is not None and isinstance(value, getattr(imported, kind))
