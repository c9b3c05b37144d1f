"""Scores of submissions: answer them under a guarantee, choose a model by them, recover the labels behind them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.scores.attacks.attack import attack
    from tacit.scores.learners.learn import learn
    from tacit.scores.plan import Plan
    from tacit.scores.releases.protect import protect
    from tacit.scores.releases.release import Release

__all__ = ["Plan", "Release", "attack", "learn", "protect"]

_MODULES = {
    "Plan": "plan",
    "Release": "releases.release",
    "attack": "attacks.attack",
    "learn": "learners.learn",
    "protect": "releases.protect",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
