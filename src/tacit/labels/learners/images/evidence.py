"""What a release says about each image."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["LabelEvidence"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelEvidence:
    """Each image's released label, -1 where there is none, and P(released | true)."""

    outputs: Tensor
    transition: Tensor

    def to(self, device: torch.device) -> LabelEvidence:
        """Return the same on a device."""
        return LabelEvidence(outputs=self.outputs.to(device), transition=self.transition.to(device))

    @property
    def likelihood(self) -> Tensor:
        """P(own released label | class), a line per image; 1 where nothing was released."""
        known = (self.outputs >= 0)[:, None]
        return torch.where(known, self.transition[:, self.outputs.clamp_min(0)].T, 1.0)
