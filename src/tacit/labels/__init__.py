"""One randomized label per row: protect it, learn from it, attack it."""

from typing import TYPE_CHECKING

from tacit.privacy.lazy import surface_names

if TYPE_CHECKING:
    from tacit.labels.attacks.attack import attack
    from tacit.labels.learners.learn import learn
    from tacit.labels.plan import Plan
    from tacit.labels.releases.protect import protect
    from tacit.labels.releases.release import Release

__all__ = ["Plan", "Release", "attack", "learn", "protect"]

__getattr__ = surface_names(__name__)
