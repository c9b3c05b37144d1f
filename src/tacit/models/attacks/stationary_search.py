"""Search for points and multipliers under which a network is stationary, many starts at once, in PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from tacit.models.network import TwoLayerReLU

__all__ = ["StationaryPoints", "StationarySearch"]

_BLUNT, _SHARP = 5.0, 100.0  # slopes of the relaxed derivative at the kink, first and last


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StationaryPoints:
    """Where each start ended: points of shape (starts, points, dimension), and the errors of each."""

    points: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    residuals: NDArray[np.float64]
    margin_errors: NDArray[np.float64]


class StationarySearch:
    """Adam on points and multipliers; the ReLU's derivative is a sigmoid that sharpens as the search goes on.

    ``scale`` is the standard deviation of the first coordinates, and the size of steps; ``radius``, where it is known,
    the norm of every point.
    """

    def __init__(
        self,
        network: TwoLayerReLU,
        signs: NDArray[np.float64],
        *,
        scale: float,
        radius: float | None,
        margin_weight: float,
    ) -> None:
        self.weights, self.biases, self.outputs = (
            torch.tensor(np.array(part)) for part in (network.weights, network.biases, network.outputs)
        )
        self.squared_norm = network.squared_norm
        self.signs = torch.tensor(signs)
        self.scale, self.radius, self.margin_weight = scale, radius, margin_weight
        reach = math.sqrt(network.dimension * scale**2 + 1)
        self.sizes = reach * (self.weights.square().sum(1) + self.biases.square()).sqrt().clamp(min=1e-300)

    def run(
        self, *, starts: int, steps: int, rng: np.random.Generator, report: Callable[[int], None] | None = None
    ) -> StationaryPoints:
        """Return where the search ends from each random start."""
        shape = (starts, len(self.signs), self.weights.shape[1])
        free = torch.tensor(self.scale * rng.normal(size=shape)).requires_grad_()
        first = self._first_multiplier(self._place(free.detach()))
        roots = first.sqrt()[:, None].repeat(1, len(self.signs)).requires_grad_()
        rate = 0.03
        adam = torch.optim.Adam(
            [{"params": [free], "lr": rate * self.scale}, {"params": [roots], "lr": rate * float(first.sqrt().mean())}]
        )
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, steps)
        for step in range(steps):
            sharpness = _BLUNT * (_SHARP / _BLUNT) ** (step / steps)
            stationarity, margins = self._errors(self._place(free), roots.square(), sharpness)
            adam.zero_grad()
            (stationarity + self.margin_weight * margins).sum().backward()  # type: ignore[no-untyped-call]
            adam.step()
            schedule.step()
            if report is not None:
                report(step + 1)
        with torch.no_grad():
            points, multipliers = self._place(free), roots.square()
            stationarity, margins = self._errors(points, multipliers, _SHARP)
        arrays = (part.detach().numpy() for part in (points, multipliers, stationarity.sqrt(), margins.sqrt()))
        return StationaryPoints(
            **dict(zip(("points", "multipliers", "residuals", "margin_errors"), arrays, strict=True))
        )

    def _place(self, free: torch.Tensor) -> torch.Tensor:
        if self.radius is None:
            return free
        return torch.nn.functional.normalize(free, dim=-1) * self.radius

    def _combine(
        self, points: torch.Tensor, multipliers: torch.Tensor, sharpness: float
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return sum_i l_i y_i grad Phi(x_i) for outputs, weights and biases, and Phi(x_i)."""
        before = points @ self.weights.T + self.biases
        signed = (multipliers * self.signs)[..., None]
        active = before.clamp(min=0)
        slopes = signed * torch.sigmoid(sharpness * before / self.sizes)
        weights = self.outputs[:, None] * (slopes.mT @ points)
        return (signed * active).sum(1), weights, self.outputs * slopes.sum(1), active @ self.outputs

    def _errors(
        self, points: torch.Tensor, multipliers: torch.Tensor, sharpness: float
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the squared relative residual, and the mean square of y Phi/m - 1 with m = |theta|^2/(2 sum l)."""
        outputs, weights, biases, values = self._combine(points, multipliers, sharpness)
        away = (outputs - self.outputs).square().sum(1) + (weights - self.weights).square().sum((1, 2))
        away = (away + (biases - self.biases).square().sum(1)) / self.squared_norm
        total = multipliers.sum(1, keepdim=True).clamp(min=1e-300)
        relative = self.signs * values * 2 * total / self.squared_norm - 1
        return away, (multipliers / total * relative.square()).sum(1)

    def _first_multiplier(self, points: torch.Tensor) -> torch.Tensor:
        """Return for each start the one multiplier of all points that fits best, kept above 0."""
        ones = torch.ones(points.shape[:2], dtype=points.dtype)
        outputs, weights, biases, _ = self._combine(points, ones, _BLUNT)
        fit = (outputs * self.outputs).sum(1) + (weights * self.weights).sum((1, 2)) + (biases * self.biases).sum(1)
        size = outputs.square().sum(1) + weights.square().sum((1, 2)) + biases.square().sum(1)
        return (fit / size.clamp(min=1e-300)).clamp(min=1e-2)
