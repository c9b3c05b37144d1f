"""The public edge of every surface: what its three functions share is documented and checked here, once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from tacit.privacy.errors import InvalidInput
from tacit.privacy.lazy import is_a
from tacit.privacy.plan import Plan

__all__ = ["SHARED", "Progress", "checked"]

P = ParamSpec("P")
R = TypeVar("R")

Progress = Callable[[int, int], None]
"""Called with what is done and all there is to do."""

_RUN = """\
rng
    The source of randomness. Default: the operating system's generator. What a seeded generator draws can be repeated
    by anyone who knows the seed: such a release is marked, and never to be published.
progress
    Called with what is done and all there is to do.
"""
SHARED = {
    "protect": """\
table
    The private table: what :func:`tacit.data.open_table` takes.
plan
    What is released, and under which guarantee.
out
    Where to write, completely or not at all; None returns the release in memory.
payment
    The ledger to charge before anything is drawn; if it refuses, nothing is drawn.
"""
    + _RUN,
    "learn": """\
release
    A release, or its path.
test
    Rows with true labels in the plan's label column, to evaluate the model on, outside the guarantee.
"""
    + _RUN,
    "attack": """\
release
    A release, or its path.
truth
    The table that was protected.
before
    Beliefs after an earlier release, (rows, classes) probabilities, instead of a model of the features.
level
    The confidence of the intervals.
"""
    + _RUN,
}
"""The parameters that mean the same on every surface; a function's own docstring has the others."""


def checked(**unused: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Check what ``protect``, ``learn`` or ``attack`` is given, and add the shared parameters to its docstring.

    Parameters
    ----------
    unused
        The parameters that have no use on the surface, each with the reason; they are rejected.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature, surface = inspect.signature(function), function.__module__.split(".")[1]

        @wraps(function)
        def call(*positional: P.args, **keywords: P.kwargs) -> R:
            try:
                given = signature.bind(*positional, **keywords).arguments
            except TypeError:  # too many or too few: the function itself says so
                return function(*positional, **keywords)
            for name, value in given.items():
                if name in unused and value is not None and not (isinstance(value, tuple) and not value):
                    raise InvalidInput(f"must not be given: {unused[name]}", field=name)
                _check(name, value, surface)
            return function(*positional, **keywords)

        shared = f"Shared parameters\n-----------------\n{SHARED[function.__name__]}"
        call.__doc__ = f"{inspect.getdoc(function)}\n\n{shared}"
        return call

    return decorate


def _check(name: str, value: object, surface: str) -> None:
    if name == "plan" and not (isinstance(value, Plan) and value.surface == surface):
        raise InvalidInput(f"must be a tacit.{surface}.Plan, got {_described(value)}", field=name)
    if value is None:
        return
    if name == "payment" and not is_a(value, "tacit.privacy.payment", "Payment"):
        raise InvalidInput(f"must be a tacit.privacy.payment.Payment, got {_described(value)}", field=name)
    if name == "rng" and not is_a(value, "numpy.random", "Generator"):
        raise InvalidInput(
            f"must be a generator, such as numpy.random.default_rng(7), got {_described(value)}", field=name
        )
    if name == "progress" and not callable(value):
        raise InvalidInput(f"must be a function of what is done and of all, got {_described(value)}", field=name)


def _described(value: object) -> str:
    if isinstance(value, Plan):
        return f"a plan of {value.surface}"
    return repr(value) if isinstance(value, str | int | float) else f"a {type(value).__name__}"
