"""The logistic loss of margins, in log space: Theorem 2.1 holds for it with log(2)/n, not with the printed 1/n."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

__all__ = ["LogisticMarginLoss"]

_TAIL = 30.0  # log(1 + e^-q) = e^-q to double precision beyond


@dataclass(frozen=True, slots=True, kw_only=True)
class LogisticMarginLoss:
    """l(q) = log(1 + e^-q).

    References
    ----------
    Paper 004, Theorem 2.1, corrected: L < log(2)/n. The printed 1/n admits a point on the wrong side, whose loss
    is between log 2 and 1.
    """

    def log_sum(self, margins: torch.Tensor) -> torch.Tensor:
        """Return log sum_i log(1 + e^-q_i)."""
        return _log_softplus(margins).logsumexp(-1)

    def weights(self, margins: torch.Tensor) -> torch.Tensor:
        """Return 1/(1 + e^q_i) / sum_k log(1 + e^-q_k)."""
        log_slope = margins.clamp(max=0) - margins.clamp(min=0) + margins.clamp(max=0).neg() - _softplus(margins.abs())
        return (log_slope - self.log_sum(margins)[..., None]).exp()

    def threshold(self, points: int) -> float:  # noqa: ARG002
        """Return log log 2."""
        return log(log(2.0))


def _softplus(q: torch.Tensor) -> torch.Tensor:
    """Return log(1 + e^-q) for q >= 0."""
    return q.neg().exp().log1p()


def _log_softplus(q: torch.Tensor) -> torch.Tensor:
    """Return log log(1 + e^-q)."""
    near = q.clamp(max=_TAIL)
    value = (near.clamp(max=0).neg() + _softplus(near.abs())).log()
    return value.where(q <= _TAIL, q.neg())
