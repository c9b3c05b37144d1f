"""The public edge of every surface: arguments of another type than their name says are refused by that name."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from tacit.privacy.errors import InvalidInput
from tacit.privacy.plan import Plan

__all__ = ["checked"]

P = ParamSpec("P")
R = TypeVar("R")


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Check the plan, payment, generator and progress that ``protect``, ``learn`` or ``attack`` is given."""
    signature, surface = inspect.signature(function), function.__module__.split(".")[1]

    @wraps(function)
    def call(*positional: P.args, **keywords: P.kwargs) -> R:
        try:
            given = signature.bind(*positional, **keywords).arguments
        except TypeError:  # too many or too few: the function itself says so
            return function(*positional, **keywords)
        for name, value in given.items():
            _check(name, value, surface)
        return function(*positional, **keywords)

    return call


def _check(name: str, value: object, surface: str) -> None:
    if name == "plan" and not (isinstance(value, Plan) and value.surface == surface):
        raise InvalidInput(f"must be a tacit.{surface}.Plan, got {_described(value)}", field=name)
    if value is None:
        return
    if name == "payment" and not _is_a(value, "tacit.privacy.payment", "Payment"):
        raise InvalidInput(f"must be a tacit.privacy.payment.Payment, got {_described(value)}", field=name)
    if name == "rng" and not _is_a(value, "numpy.random", "Generator"):
        raise InvalidInput(
            f"must be a generator, such as numpy.random.default_rng(7), got {_described(value)}", field=name
        )
    if name == "progress" and not callable(value):
        raise InvalidInput(f"must be a function of what is done and of all, got {_described(value)}", field=name)


def _is_a(value: object, module: str, kind: str) -> bool:
    """Whoever made such an object has imported its module: who did not need not wait for it."""
    imported = sys.modules.get(module)
    return imported is not None and isinstance(value, getattr(imported, kind))


def _described(value: object) -> str:
    if isinstance(value, Plan):
        return f"a plan of {value.surface}"
    return repr(value) if isinstance(value, str | int | float) else f"a {type(value).__name__}"
