"""A trained model is a release: train it under a guarantee, judge it, and measure what it reveals of its rows."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.models.attacks.attack import attack
    from tacit.models.learners.load import learn
    from tacit.models.plan import Plan
    from tacit.models.releases.protect import protect
    from tacit.models.releases.release import Release

__all__ = ["Plan", "Release", "attack", "learn", "protect"]

_HOMES = {
    "Plan": "plan",
    "Release": "releases.release",
    "attack": "attacks.attack",
    "learn": "learners.load",
    "protect": "releases.protect",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name in _HOMES:
        return getattr(import_module(f"tacit.models.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
