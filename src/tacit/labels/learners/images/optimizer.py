"""SGD whose steps are bounded by the size of each layer, for large batches."""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["LayerwiseSgd"]


class LayerwiseSgd:
    """Nesterov's SGD where a layer moves by at most a share of its norm; biases and normalizations move freely.

    References
    ----------
    You, Gitman and Ginsburg (2017), LARS, equation (6), clipped at the given rate.
    """

    def __init__(
        self, parameters: list[nn.Parameter], *, decay: float = 1e-4, trust: float = 0.005, momentum: float = 0.9
    ) -> None:
        self._layers: list[Tensor] = [one for one in parameters if one.ndim > 1]
        self._others: list[Tensor] = [one for one in parameters if one.ndim <= 1]
        self._speeds: dict[Tensor, Tensor] = {one: torch.zeros_like(one) for one in parameters}
        self._decay, self._trust, self._momentum = decay, trust, momentum

    @property
    def speeds(self) -> list[Tensor]:
        """The momentum of each parameter, in their order."""
        return list(self._speeds.values())

    def load(self, speeds: list[Tensor]) -> None:
        """Go on with such a momentum."""
        self._speeds = dict(zip(self._speeds, speeds, strict=True))

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """Take a step against the gradients, and clear them."""
        gradients = _gradients(self._layers)
        sizes, slopes = (torch.stack(list(torch._foreach_norm(those))) for those in (self._layers, gradients))
        trusted = (self._trust * sizes / (slopes + self._decay * sizes + 1e-8) / rate).clamp(max=1.0)
        decayed = list(torch._foreach_add(gradients, self._layers, alpha=self._decay))
        torch._foreach_mul_(decayed, list(trusted.unbind()))
        for those, moves in ((self._layers, decayed), (self._others, _gradients(self._others))):
            speeds = [self._speeds[one] for one in those]
            torch._foreach_mul_(speeds, self._momentum)
            torch._foreach_add_(speeds, moves)
            torch._foreach_add_(those, torch._foreach_add(moves, speeds, alpha=self._momentum), alpha=-rate)
            for one in those:
                one.grad = None


def _gradients(parameters: list[Tensor]) -> list[Tensor]:
    return [one.grad for one in parameters if one.grad is not None]
