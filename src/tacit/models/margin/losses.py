"""The loss whose gradient flow finds a margin, in log space: no margin is too large for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

# nothing of tacit is imported: benchmarks load this file where only NumPy and PyTorch are installed
if TYPE_CHECKING:
    import torch

__all__ = ["ExponentialMarginLoss", "MarginLoss"]


class MarginLoss(Protocol):
    """A loss of margins q_i = y_i Phi(x_i), by its logarithm."""

    def log_sum(self, margins: torch.Tensor) -> torch.Tensor:
        """Return log sum_i l(q_i) over the last axis; an infinite margin counts nothing."""

    def weights(self, margins: torch.Tensor) -> torch.Tensor:
        """Return -d log_sum / d q_i."""

    def threshold(self, points: int) -> float:
        """Return the log of the sum below which gradient flow is proved to converge to a KKT point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialMarginLoss:
    """l(q) = e^-q.

    References
    ----------
    Paper 004, Theorem 2.1: L < 1/n, that is a sum below 1, for then every point is on its side.
    """

    def log_sum(self, margins: torch.Tensor) -> torch.Tensor:
        """Return log sum_i e^-q_i."""
        return margins.neg().logsumexp(-1)

    def weights(self, margins: torch.Tensor) -> torch.Tensor:
        """Return e^-q_i / sum_k e^-q_k."""
        return margins.neg().softmax(-1)

    def threshold(self, points: int) -> float:  # noqa: ARG002
        """Return log 1 = 0."""
        return 0.0
