"""Label totals of groups of rows: protect them, learn from them, attack them."""

from typing import TYPE_CHECKING

from tacit.privacy.lazy import surface_names

if TYPE_CHECKING:
    from tacit.bags.attacks.attack import attack
    from tacit.bags.learners.learn import learn
    from tacit.bags.plan import Plan
    from tacit.bags.releases.protect import protect
    from tacit.bags.releases.release import Release

__all__ = ["Plan", "Release", "attack", "learn", "protect"]

__getattr__ = surface_names(__name__)
