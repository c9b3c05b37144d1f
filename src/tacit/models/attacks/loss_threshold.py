"""The simplest membership attack: rows with a low loss were trained on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.leak import Leak
from tacit.leak.roc import check_scores
from tacit.models.attacks.coins import CoinDesign
from tacit.models.attacks.membership import measure_membership

__all__ = ["LossThreshold", "attack_losses"]


@dataclass(frozen=True, slots=True)
class LossThreshold:
    """Score a row by the model's confidence in its label: the order of falling cross-entropy.

    References
    ----------
    Yeom et al. (2018), Adversary 2.
    """

    def score(self, confidence: ArrayLike) -> NDArray[np.float64]:
        """Return the confidence itself."""
        return np.asarray(confidence, dtype=np.float64)


def attack_losses(
    member_losses: ArrayLike,
    nonmember_losses: ArrayLike,
    *,
    rng: np.random.Generator,
    coins: CoinDesign | None = None,
    level: float = 0.95,
    delta: float = 0.0,
) -> Leak:
    """Call a row a member when the model's loss on it is at or below a threshold, as :class:`LossThreshold` does.

    Only the order of losses counts; infinite losses are allowed. ``rng``, ``coins``, ``level`` and ``delta`` are
    those of :func:`tacit.models.attacks.membership.measure_membership`.
    """
    inside = -check_scores(member_losses, name="member_losses")
    outside = -check_scores(nonmember_losses, name="nonmember_losses")
    return measure_membership(inside, outside, rng=rng, coins=coins, level=level, delta=delta)
