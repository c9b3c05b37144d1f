"""A representation from images alone, which are public under label privacy: many patches, few passes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from tacit.labels.learners.images.checkpoint import TrainingCheckpoint
from tacit.labels.learners.images.length import TrainingLength
from tacit.labels.learners.images.network import ResidualNetwork, projector
from tacit.labels.learners.images.optimizer import LayerwiseSgd
from tacit.labels.learners.images.reading import compiled, laid_out
from tacit.labels.learners.images.views import patch_views
from tacit.labels.learners.network.device import bfloat16

__all__ = ["PatchRepresentation"]

_READ_IMAGES = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchRepresentation:
    """Patches of one image look alike to the network; those of different images spread over all directions.

    With z_p the normalized outputs for patch p of each image in a batch and z their mean over patches, the loss is
    -200 mean_p cos(z_p, z) - mean_p 1/2 log det(I + d/(m e) z_p' z_p), for m images and d dimensions.

    Parameters
    ----------
    epochs
        Passes over the images.
    seconds
        Instead of ``epochs``: as many as fit this time, compiling included.
    patches
        Of an image, in each pass.
    images
        Per step.
    rate
        Of the layerwise SGD, at its height.
    hidden, outputs
        Widths of the projector; neighbors are found by its hidden layer, averaged over patches.
    patches_read
        How many patches of an image are averaged when it is read.

    References
    ----------
    Tong, Chen, Ma and LeCun (2023), EMP-SSL, Sections 3.1 and 3.2.
    """

    epochs: float = 20.0
    seconds: float | None = None
    patches: int = 20
    images: int = 128
    rate: float = 0.3
    hidden: int = 4096
    outputs: int = 1024
    patches_read: int = 16

    def learn(
        self,
        images: Tensor,
        body: ResidualNetwork,
        *,
        progress: Callable[[int, int], None],
        checkpoint: TrainingCheckpoint | None = None,
    ) -> Tensor:
        """Train ``body`` on images of bytes, and return what it makes of each: rows of length 1."""
        first = self.reader(body)
        self.train(images, first, progress=progress, checkpoint=checkpoint)
        return self.read(images, first)

    def reader(self, body: ResidualNetwork) -> nn.Sequential:
        """Return the body and the projector's hidden layer, by which neighbors are found."""
        layers = (body, nn.Linear(body.features, self.hidden, bias=False), nn.BatchNorm1d(self.hidden), nn.ReLU())
        return nn.Sequential(*layers).to(next(body.parameters()).device)

    def train(
        self,
        images: Tensor,
        first: nn.Sequential,
        *,
        progress: Callable[[int, int], None],
        checkpoint: TrainingCheckpoint | None = None,
    ) -> None:
        """Train what :meth:`reader` returned."""
        device = images.device
        whole = nn.Sequential(first, projector(self.hidden, hidden=self.hidden, outputs=self.outputs)).to(device)
        count = min(self.images, len(images))
        optimizer = LayerwiseSgd(list(whole.parameters()))
        call, view = compiled(whole, device), compiled(patch_views, device)
        whole.train()
        step, spent = 0, 0.0
        if checkpoint is not None and (state := checkpoint.found("representation", device=device)) is not None:
            step, spent = state["step"], state["spent"]
            whole.load_state_dict(state["network"])
            optimizer.load(state["speeds"])
        planned = max(1, round(self.epochs * len(images) / count))
        length = TrainingLength(steps=planned, seconds=self.seconds, device=device, spent=spent)
        while step < (steps := length.at(step)):
            rows = torch.randint(len(images), (count,), device=device).repeat(self.patches)
            seen = laid_out(view(images[rows], side=self.side(images)))
            with bfloat16(device):
                outputs = call(seen)
            loss = _spread_loss(functional.normalize(outputs.float(), dim=1).view(self.patches, count, -1))
            torch.autograd.backward(loss)
            optimizer.step(self._rate_at(step / steps))
            step += 1
            progress(step, steps)
            if checkpoint is not None and checkpoint.due(last=step == steps):
                state = {
                    "step": step, "spent": length.spent, "network": whole.state_dict(), "speeds": optimizer.speeds,
                }  # fmt: skip
                checkpoint.keep("representation", state, device=device)

    @torch.no_grad()
    def read(self, images: Tensor, first: nn.Sequential) -> Tensor:
        """Return what a trained network makes of images: the mean over patches, of length 1."""
        first.eval()
        parts = []
        for batch in torch.split(images, _READ_IMAGES):
            total = torch.zeros(len(batch), self.hidden, device=images.device)
            for _ in range(self.patches_read):
                seen = laid_out(patch_views(batch, side=self.side(images), colored=False))
                with bfloat16(images.device):
                    features = first(seen)
                total += functional.normalize(features.float(), dim=1)
            parts.append(functional.normalize(total, dim=1))
        return torch.cat(parts)

    @staticmethod
    def side(images: Tensor) -> int:
        """Return the side of a patch: three quarters of the image's, at which half of it is enlarged."""
        return max(4, 3 * images.shape[3] // 4)

    def _rate_at(self, share: float) -> float:
        return self.rate * min(1.0, share / 0.02 + 0.05) * (1 + math.cos(math.pi * share)) / 2


def _spread_loss(patches: Tensor, *, slack: float = 0.2) -> Tensor:
    """Return the loss of outputs (patches, images, dimensions), each of length 1."""
    _, images, dimensions = patches.shape
    alike = functional.cosine_similarity(patches, patches.mean(dim=0, keepdim=True), dim=2).mean()
    gram = patches @ patches.transpose(1, 2)
    inside = torch.eye(images, device=patches.device) + dimensions / (images * slack) * gram
    factors = torch.linalg.cholesky_ex(inside).L  # without the check, which would wait for the GPU
    rate = factors.diagonal(dim1=1, dim2=2).log().sum(dim=1).mean()
    loss: Tensor = -200 * alike - rate
    return loss
