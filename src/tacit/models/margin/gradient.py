"""Gradient ascent of the log loss of many networks at once, in the coordinates of the points they see.

The gradient of (w_j, b_j) lies in the span of the points (x_i, 1). Only the coordinates in that span ever move, so n
points cost the same in 20 dimensions and in 1,000.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

# nothing of tacit is imported: Figure 1 of the paper loads this file where only NumPy and PyTorch are installed
import torch

__all__ = ["ExponentialMarginLoss", "MarginAscent", "MarginLoss", "ascend"]


class MarginLoss(Protocol):
    """A loss of margins q_i = y_i Phi(x_i), by its logarithm."""

    def log_sum(self, margins: torch.Tensor) -> torch.Tensor:
        """Return log sum_i l(q_i) over the last axis."""

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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MarginAscent:
    """Where the steps ended, for each network of the batch: shapes as in :func:`ascend`, margins as signs.

    ``neurons`` are coordinates of (w_j, b_j), ``margins`` y_i Phi(x_i), ``log_loss`` is log sum_i l(y_i Phi(x_i)), and
    ``below_at`` the first step at which the loss was below the threshold of Theorem 2.1; -1 where it never was.
    """

    neurons: torch.Tensor
    outputs: torch.Tensor
    margins: torch.Tensor
    log_loss: torch.Tensor
    below_at: torch.Tensor


def ascend(
    points: torch.Tensor,
    signs: torch.Tensor,
    neurons: torch.Tensor,
    outputs: torch.Tensor,
    *,
    loss: MarginLoss,
    steps: int,
    rate: float = 4.0,
    momentum: float = 0.9,
    longest: float = 0.1,
    report: Callable[[int], None] | None = None,
) -> MarginAscent:
    """Take gradient steps on -log sum_i l(q_i), with Nesterov's momentum, each network at its own rate.

    The gradient of the logarithm is that of the loss divided by the loss, so the rate on the loss itself grows
    without bound. A step's rate is ``rate`` / max_i |grad q_i|^2, the scale at which the logarithm curves, and no step
    moves theta by more than ``longest`` |theta|: small networks grow slowly enough to turn. Momentum is dropped
    where the loss rose.

    Points are coordinates of (x_i, 1), of shape (networks, points, rank); signs have shape (networks, points); neurons
    (networks, width, rank) and outputs (networks, width) are where to begin.

    References
    ----------
    Nacson et al. (2019) and Lyu and Li (2020), Section 5: rates proportional to 1/L; Ji, Srebro and Telgarsky (2021):
    momentum for margins.
    """
    lengths = points.square().sum(2)
    threshold = loss.threshold(points.shape[1])
    speed_neurons, speed_outputs = torch.zeros_like(neurons), torch.zeros_like(outputs)
    below_at = torch.full_like(signs[:, 0], -1, dtype=torch.long)
    value = torch.full_like(signs[:, 0], torch.inf)
    neurons, outputs = neurons.clone(), outputs.clone()
    for step in range(steps + 1):
        hidden = torch.bmm(points, neurons.mT).clamp_(min=0)
        margins = signs * torch.bmm(hidden, outputs[:, :, None])[:, :, 0]
        before, value = value, loss.log_sum(margins)
        below_at = torch.where((below_at < 0) & (value < threshold), step, below_at)
        if step == steps:
            break
        force = loss.weights(margins) * signs
        on = (hidden > 0).to(points)
        curve = hidden.square().sum(2) + lengths * torch.bmm(on, outputs.square()[:, :, None])[:, :, 0]
        up_outputs = torch.bmm(hidden.mT, force[:, :, None])[:, :, 0]
        up_neurons = torch.bmm(on.mul_(force[:, :, None]).mT, points).mul_(outputs[:, :, None])
        norm = _norm(neurons, outputs)
        eta = torch.minimum(rate / curve.amax(1), longest * norm / _norm(up_neurons, up_outputs))
        kept = momentum * (value <= before).to(points)
        for speed, up in ((speed_neurons, up_neurons), (speed_outputs, up_outputs)):
            up.mul_(_wide(eta, up))
            speed.mul_(_wide(kept, speed)).add_(up)
            up.add_(speed, alpha=momentum)
        shrink = (longest * norm / _norm(up_neurons, up_outputs)).clamp(max=1.0)
        for value_of, speed, up in ((neurons, speed_neurons, up_neurons), (outputs, speed_outputs, up_outputs)):
            value_of.add_(up.mul_(_wide(shrink, up)))
            speed.mul_(_wide(shrink, speed))
        if report is not None:
            report(step + 1)
    return MarginAscent(neurons=neurons, outputs=outputs, margins=margins, log_loss=value, below_at=below_at)


def _norm(neurons: torch.Tensor, outputs: torch.Tensor) -> torch.Tensor:
    size = (neurons.square().sum((1, 2)) + outputs.square().sum(1)).sqrt()
    return size.clamp(min=torch.finfo(size.dtype).tiny)


def _wide(scale: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    return scale.view(-1, *(1,) * (like.ndim - 1))
