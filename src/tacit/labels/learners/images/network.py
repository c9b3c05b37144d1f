"""The residual network that looks at images, and its heads."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

__all__ = ["ImageNetwork", "ResidualNetwork", "projector"]


class _ResidualBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs),
        )  # fmt: skip
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.inner(x) + self.shortcut(x))


class ResidualNetwork(nn.Module):
    """ResNet-18 for small images: the first step does not shrink them.

    Parameters
    ----------
    channels
        Of the images.
    width
        Of the first step; features are eight times as many.

    References
    ----------
    He, Zhang, Ren and Sun (2016), Section 4.2 for the shape at 32 pixels.
    """

    def __init__(self, channels: int, *, width: int = 64) -> None:
        super().__init__()
        self.features = 8 * width
        widths = (width, width, 2 * width, 4 * width, 8 * width)
        blocks = [
            block
            for stage, (inputs, outputs) in enumerate(pairwise(widths))
            for block in (_ResidualBlock(inputs, outputs, 1 if stage == 0 else 2), _ResidualBlock(outputs, outputs, 1))
        ]
        self.layers = nn.Sequential(
            nn.Conv2d(channels, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(), *blocks
        )
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    @torch.no_grad()
    def rescale_filters(self) -> None:
        """Give each filter the norm of a fresh one, 1/sqrt(3), which leaves the outputs as they are.

        What follows a filter is normalized, so only the ratio of a step to the filter's norm counts. A representation
        ends with filters many times as large as fresh ones, and at any usual rate they would hardly move again.
        """
        for filters, normalization in pairwise(self.modules()):
            if isinstance(filters, nn.Conv2d) and isinstance(normalization, nn.BatchNorm2d):
                factor = 3**-0.5 / filters.weight.flatten(1).norm(dim=1).clamp_min(1e-12)
                filters.weight.mul_(factor[:, None, None, None])
                assert normalization.running_mean is not None  # torch's type allows None
                assert normalization.running_var is not None
                normalization.running_mean.mul_(factor)
                normalization.running_var.mul_(factor**2)

    def forward(self, x: Tensor) -> Tensor:
        """Return the features of images."""
        features: Tensor = self.layers(x).mean(dim=(2, 3))
        return features


class ImageNetwork(nn.Module):
    """A body with two heads: the classes, and a projection that views of one image share."""

    def __init__(self, body: ResidualNetwork, classes: int) -> None:
        super().__init__()
        self.body = body
        self.head = nn.Linear(body.features, classes)
        self.projection = projector(body.features, hidden=256, outputs=128)
        self.prediction = projector(128, hidden=256, outputs=128)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return features, logits and projections."""
        features = self.body(x)
        return features, self.head(features), self.projection(features)


def projector(inputs: int, *, hidden: int, outputs: int) -> nn.Sequential:
    """Return two layers with a normalized hidden one."""
    return nn.Sequential(
        nn.Linear(inputs, hidden, bias=False), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Linear(hidden, outputs)
    )
