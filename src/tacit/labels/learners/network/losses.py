"""What a network minimizes: losses of a row's logits and the weights of its classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ForwardCorrected:
    """-log sum_z t_z (p T)_z: the forward-corrected loss, whose minimizer is the model of the true labels.

    Without a transition matrix T the targets are themselves likelihoods, t_k = P(released label | true label k), one
    row of them for each release: that covers mechanisms that differ from row to row, as in stages. Either way a
    one-hot target under T = I is plain cross-entropy, so a model can be retrained on its own predictions with
    ``transition=None``.

    Parameters
    ----------
    transition
        P(released label | true label), a row for each true label.

    References
    ----------
    Patrini et al. (2017), Theorem 2. Formula sheet a10.
    """

    transition: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        if self.transition is None:
            return
        T = np.asarray(self.transition, dtype=np.float64)
        if T.ndim != 2 or T.shape[0] != T.shape[1] or (T < 0).any() or not np.allclose(T.sum(axis=1), 1, atol=1e-9):
            raise InvalidInput(
                f"must be a square matrix of rows that sum to 1, got shape {T.shape}", field="transition"
            )

    def rows(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return one loss per row."""
        torch = load_extra("torch")
        if self.transition is not None:
            T = torch.as_tensor(self.transition, dtype=targets.dtype, device=targets.device)
            targets = targets @ T.T
        # in logs: a class that cannot have been the true one has likelihood 0, and a sure model p = 0
        loss: Tensor = -torch.logsumexp(logits.log_softmax(dim=1) + targets.clamp_min(1e-30).log(), dim=1)
        return loss
