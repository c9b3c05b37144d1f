"""What a trained network makes of images."""

from __future__ import annotations

import torch
from torch import Tensor

from tacit.labels.learners.images.device import laid_out
from tacit.labels.learners.images.network import ImageNetwork
from tacit.labels.learners.images.views import plain_views
from tacit.labels.learners.network.device import bfloat16

__all__ = ["read_images"]

_READ_IMAGES = 2500


@torch.no_grad()
def read_images(network: ImageNetwork, images: Tensor) -> tuple[Tensor, Tensor]:
    """Return features and probabilities of images of bytes, averaged over both mirror images."""
    network.eval()
    features, probabilities = [], []
    for batch in torch.split(images, _READ_IMAGES):
        seen = plain_views(batch)
        with bfloat16(images.device):
            one, other = network(laid_out(seen)), network(laid_out(seen.flip(3)))
        features.append(one[0].float() + other[0].float())
        probabilities.append((one[1].float().softmax(dim=1) + other[1].float().softmax(dim=1)) / 2)
    return torch.cat(features), torch.cat(probabilities)
