"""Label totals of groups of rows: protect them, learn from them, attack them."""

from typing import TYPE_CHECKING

from tacit.privacy.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.bags.attacks.attack import attack
    from tacit.bags.learners.learn import learn
    from tacit.bags.plan import Plan
    from tacit.bags.releases.protect import protect
    from tacit.bags.releases.release import Release

__all__ = ["Plan", "Release", "attack", "learn", "protect"]

__getattr__ = lazy_names(
    __name__,
    Plan="plan",
    Release="releases.release",
    protect="releases.protect",
    learn="learners.learn",
    attack="attacks.attack",
)
