"""How networks read images: laid out and compiled for a GPU, and what a trained one makes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor

from tacit.labels.learners.images.network import ImageNetwork
from tacit.labels.learners.images.views import plain_views
from tacit.labels.learners.network.device import bfloat16

__all__ = ["compiled", "laid_out", "read_images"]

Called = TypeVar("Called", bound=Callable[..., Any])

_READ_IMAGES = 2500


def compiled(call: Called, device: torch.device) -> Called:
    """Fuse a function's steps on a GPU, where views of images would else take longer than the network."""
    return torch.compile(call) if device.type == "cuda" else call  # type: ignore[return-value]


def laid_out(images: Tensor) -> Tensor:
    """Return a batch as convolutions read it fastest."""
    return images.contiguous(memory_format=torch.channels_last)


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
