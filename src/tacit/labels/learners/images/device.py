"""Where the arithmetic is done, and how precisely."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import torch
from torch import Tensor

__all__ = ["bfloat16", "compiled", "laid_out"]

Called = TypeVar("Called", bound=Callable[..., Any])


def bfloat16(device: torch.device) -> AbstractContextManager[None]:
    """Compute in half the digits on a GPU."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda")


def compiled(call: Called, device: torch.device) -> Called:
    """Fuse a function's steps on a GPU, where views of images would else take longer than the network."""
    return torch.compile(call) if device.type == "cuda" else call  # type: ignore[return-value]


def laid_out(images: Tensor) -> Tensor:
    """Return a batch as convolutions read it fastest."""
    return images.contiguous(memory_format=torch.channels_last)
