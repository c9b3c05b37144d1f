"""How a network's weights move: an optimizer with its schedule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from tacit.privacy.extras import load_extra

__all__ = ["Adam", "Optimizer"]


class Optimizer(Protocol):
    """A factory of a torch optimizer and its scheduler, which steps once per batch."""

    def build(self, parameters: Iterable[Any], *, steps: int) -> tuple[Any, Any]:
        """Return the torch optimizer and scheduler for a training of ``steps`` batches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adam:
    """AdamW; the rate rises to ``learning_rate`` and falls to 0 by the one-cycle rule.

    References
    ----------
    Loshchilov and Hutter (2019); Smith and Topin (2019).
    """

    learning_rate: float = 2e-3
    weight_decay: float = 1e-4

    def build(self, parameters: Iterable[Any], *, steps: int) -> tuple[Any, Any]:
        """Return the torch optimizer and scheduler for a training of ``steps`` batches."""
        optim = load_extra("torch").optim
        made = optim.AdamW(parameters, lr=self.learning_rate, weight_decay=self.weight_decay)
        # a cycle of one batch has no rise: torch divides by its length
        steps = max(steps, 10)
        cycle = optim.lr_scheduler.OneCycleLR(made, max_lr=self.learning_rate, total_steps=steps, cycle_momentum=False)
        return made, cycle
