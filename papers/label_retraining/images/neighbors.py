"""Nearest neighbors on the device; what is made of them is tacit's (``tacit.labels.learners.neighbors``)."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


@torch.no_grad()
def nearest(features: Tensor, *, count: int) -> NDArray[np.int64]:
    """Return for each row the others whose features, centered, point most nearly the same way."""
    unit = torch.nn.functional.normalize(features - features.mean(dim=0), dim=1)
    found = []
    for start in range(0, len(unit), 2048):
        alike = unit[start : start + 2048] @ unit.T
        alike[
            torch.arange(len(alike)), torch.arange(start, start + len(alike))
        ] = -2.0  # a row is no neighbor of its own
        found.append(alike.topk(count, dim=1, sorted=False).indices.cpu())
    return torch.cat(found).numpy()
