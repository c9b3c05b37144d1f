"""Trained models as releases: train them under a guarantee, evaluate them, and measure what they reveal."""

from typing import TYPE_CHECKING

from tacit.privacy.lazy import surface_names

if TYPE_CHECKING:
    from tacit.models.attacks.attack import attack
    from tacit.models.learners.load import learn
    from tacit.models.plan import Plan
    from tacit.models.releases.protect import protect
    from tacit.models.releases.release import Release

__all__ = ["Plan", "Release", "attack", "learn", "protect"]

__getattr__ = surface_names(__name__, learn="learners.load")
