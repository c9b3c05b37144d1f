"""What every attack on a model is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.models.attacks.rows import AttackedRows, read_attacked
from tacit.models.plan import Plan
from tacit.models.releases.release import Release

__all__ = ["AttackedRelease"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttackedRelease:
    """A released model, and what an attacker has besides."""

    release: Release
    truth: object
    data: object
    level: float
    rng: np.random.Generator
    progress: Callable[[int, int], None]

    def default_method(self) -> str:
        """Return the attack that fits how the model was trained, or what it looks like if that is not known."""
        plan = self.release.plan
        if isinstance(plan, Plan):
            return plan.mechanism.usual_attack
        return "margin" if self.release.is_network else "loss"

    def rows(self, *, coins: bool = False) -> AttackedRows:
        """Return members and non-members, encoded."""
        return read_attacked(self.release, self.truth, self.data, coins=coins)
