"""Losses that a few wrong labels cannot pull far: published baselines that need no transition matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tacit.privacy.errors import InvalidInput

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneralizedCrossEntropy:
    """sum_k t_k (1 - p_k^q)/q: bounded, so a wrong label cannot pull without end. It needs no T.

    References
    ----------
    Zhang and Sabuncu (2018), Eq. 6.
    """

    q: float = 0.7

    def __post_init__(self) -> None:
        if not 0 < self.q <= 1:
            raise InvalidInput(f"must be in (0, 1], got {self.q!r}", field="q")

    def rows(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return one loss per row."""
        powers = (self.q * logits.log_softmax(dim=1)).exp()
        return (targets * (1 - powers) / self.q).sum(dim=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SymmetricCrossEntropy:
    """sum_k t_k (-alpha log p_k - beta log(floor) (1 - p_k)): cross-entropy and its reverse. It needs no T.

    References
    ----------
    Wang et al. (2019), Eqs. 6 and 8.
    """

    alpha: float = 0.1
    beta: float = 1.0
    floor: float = 1e-4

    def rows(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return one loss per row."""
        log_p = logits.log_softmax(dim=1)
        losses = -self.alpha * log_p - self.beta * float(np.log(self.floor)) * (1 - log_p.exp())
        return (targets * losses).sum(dim=1)
