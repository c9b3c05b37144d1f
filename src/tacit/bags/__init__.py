"""Label totals of groups of rows: protect them, learn from them, attack them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.bags.attacks.attack import attack
    from tacit.bags.learners.learn import learn
    from tacit.bags.plan import Plan
    from tacit.bags.releases.protect import protect
    from tacit.bags.releases.release import Release

__all__ = ["Plan", "Release", "attack", "learn", "protect"]

_HOME = {
    "Plan": "tacit.bags.plan",
    "Release": "tacit.bags.releases.release",
    "protect": "tacit.bags.releases.protect",
    "learn": "tacit.bags.learners.learn",
    "attack": "tacit.bags.attacks.attack",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
