"""ResNets for images of 32 x 32 (He et al. 2016, as Das et al. and others use them on CIFAR)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

BLOCKS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3)}


class Block(nn.Module):
    """Two 3 x 3 convolutions and a shortcut."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, width, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.second = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.short: nn.Module = nn.Identity()
        if stride > 1 or channels != width:
            self.short = nn.Sequential(nn.Conv2d(channels, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's map."""
        h = torch.relu(self.norm1(self.first(x)))
        return torch.relu(self.norm2(self.second(h)) + self.short(x))


class ResNet(nn.Module):
    """Features are the means over the last map; the head is linear."""

    def __init__(self, *, depth: int = 18, width: int = 64, classes: int = 10) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
        channels = width
        for level, count in enumerate(BLOCKS[depth]):
            for number in range(count):
                wide = width << level
                layers.append(Block(channels, wide, 2 if level and not number else 1))
                channels = wide
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(channels, classes)
        self.features = channels

    def represent(self, x: Tensor) -> Tensor:
        """Return one vector an image."""
        seen: Tensor = self.body(x)
        return seen.mean(dim=(2, 3))

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits."""
        told: Tensor = self.head(self.represent(x))
        return told
