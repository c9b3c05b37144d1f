"""What a network minimizes: losses of a row's logits and the weights of its classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tacit.privacy.extras import load_extra

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["ForwardCorrected", "NetworkLoss", "SoftCrossEntropy"]


class NetworkLoss(Protocol):
    """Gives the loss of each row, from its logits and the weights ``targets`` of its classes (one-hot for a label)."""

    def rows(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return one loss per row."""


@dataclass(frozen=True, slots=True)
class SoftCrossEntropy:
    """-sum_k t_k log p_k."""

    def rows(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return one loss per row."""
        return -(targets * logits.log_softmax(dim=1)).sum(dim=1)


@dataclass(frozen=True, slots=True)
class ForwardCorrected:
    """-log sum_k p_k t_k, for targets t_k = P(released label | true label k): its minimizer models the true labels.

    The likelihoods may differ in kind from row to row, as in stages. Of a one-hot target it is plain cross-entropy, so
    a model can be retrained on its own predictions.

    References
    ----------
    Patrini et al. (2017), Theorem 2. Formula sheet a10.
    """

    def rows(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return one loss per row."""
        torch = load_extra("torch")
        # in logs: a class that cannot have been the true one has likelihood 0, and a sure model p = 0
        loss: Tensor = -torch.logsumexp(logits.log_softmax(dim=1) + targets.clamp_min(1e-30).log(), dim=1)
        return loss
