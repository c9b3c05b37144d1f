"""Noisy feature rows or class totals: release few and well-chosen columns, learn from them, link them back."""

from typing import TYPE_CHECKING

from tacit.privacy.lazy import surface_names

if TYPE_CHECKING:
    from tacit.features.attacks.attack import attack
    from tacit.features.learners.learn import learn
    from tacit.features.plan import Plan
    from tacit.features.releases.protect import protect
    from tacit.features.releases.release import Release

__all__ = ["Plan", "Release", "attack", "learn", "protect"]

__getattr__ = surface_names(__name__)
