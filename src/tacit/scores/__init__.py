"""Scores of submissions: answer them under a guarantee, choose a model by them, recover the labels behind them."""

from typing import TYPE_CHECKING

from tacit.privacy.lazy import surface_names

if TYPE_CHECKING:
    from tacit.scores.attacks.attack import attack
    from tacit.scores.learners.learn import learn
    from tacit.scores.plan import Plan
    from tacit.scores.releases.protect import protect
    from tacit.scores.releases.release import Release

__all__ = ["Plan", "Release", "attack", "learn", "protect"]

__getattr__ = surface_names(__name__)
