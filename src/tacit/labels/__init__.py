"""One randomized label per row: protect it, learn from it, attack it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.labels.attacks.attack import attack
    from tacit.labels.learners.learn import learn
    from tacit.labels.plan import Plan
    from tacit.labels.releases.protect import protect
    from tacit.labels.releases.release import Release

__all__ = ["Plan", "Release", "attack", "learn", "protect"]

_HOMES = {
    "Plan": "plan",
    "Release": "releases.release",
    "attack": "attacks.attack",
    "learn": "learners.learn",
    "protect": "releases.protect",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
