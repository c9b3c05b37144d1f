"""Clipped, noisy steps on a torch module: Opacus computes a gradient per row, and our generator draws the noise."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from opacus.grad_sample import GradSampleModule
from opacus.optimizers import DPOptimizer
from opacus.validators import ModuleValidator
from torch.nn import functional

from tacit.privacy.errors import InvalidInput
from tacit.privacy.loss import SampledGaussianLoss

__all__ = ["NoisyTraining", "make_private", "row_losses"]

RowLoss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def make_private(module: torch.nn.Module) -> torch.nn.Module:
    """Return a copy in which every row is treated by itself: BatchNorm becomes GroupNorm."""
    copied: torch.nn.Module = ModuleValidator.fix(module)  # clones first
    copied.train()
    wrong = ModuleValidator.validate(copied, strict=False)
    if wrong:
        raise InvalidInput(f"must treat every row by itself: {wrong[0]}; replace that layer", field="module")
    if not any(p.requires_grad for p in copied.parameters()):
        raise InvalidInput("must have a parameter to train, got none that requires a gradient", field="module")
    _wrap(copied).to_standard_module()
    return copied


def row_losses(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return each row's loss: cross-entropy of several outputs, logistic loss of one (target 1 against the other)."""
    if outputs.ndim == 2 and outputs.shape[1] > 1:
        return functional.cross_entropy(outputs, targets.long(), reduction="none")
    signs = torch.where(targets > 0, 1.0, -1.0).to(outputs.dtype)
    return functional.softplus(-signs * outputs.reshape(len(targets)))


class _SystemNoise(DPOptimizer):  # type: ignore[misc]  # opacus has no types
    """Opacus' optimizer, with noise from a NumPy generator and rows whose gradient is no number left out."""

    def __init__(
        self, optimizer: torch.optim.Optimizer, *, rng: np.random.Generator, noise: float, clip: float
    ) -> None:
        super().__init__(
            optimizer, noise_multiplier=noise, max_grad_norm=clip, expected_batch_size=None, loss_reduction="sum"
        )
        self._rng = rng

    def clip_and_accumulate(self) -> None:
        for p in self.params:
            # 0 times infinity is NaN: one row could spoil the sum, and its presence would show
            p.grad_sample = torch.nan_to_num(p.grad_sample, nan=0.0, posinf=0.0, neginf=0.0)
        super().clip_and_accumulate()
        for p in self.params:
            p.grad = p.grad_sample = None

    def add_noise(self) -> None:
        scale = self.noise_multiplier * self.max_grad_norm
        for p in self.params:
            noise = torch.from_numpy(self._rng.normal(scale=scale, size=tuple(p.shape)))
            clean = torch.zeros_like(p) if p.summed_grad is None else p.summed_grad  # no row was drawn
            p.grad = (clean.double() + noise.to(clean.device)).to(p.dtype).view_as(p)
            p.summed_grad = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisyTraining:
    """Everything a step needs besides the rows.

    Parameters
    ----------
    batch_size
        The expected number of rows per step: what the noisy sum is divided by.
    physical_batch
        Rows whose gradients are held at once; it changes memory and time, not the result.
    """

    run: SampledGaussianLoss
    clip: float
    batch_size: float
    make_optimizer: Callable[[Any], torch.optim.Optimizer]
    loss: RowLoss = row_losses
    physical_batch: int = 512

    def fit(
        self,
        module: torch.nn.Module,
        X: torch.Tensor,
        y: torch.Tensor,
        *,
        rng: np.random.Generator,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Take all steps, in place."""
        wrapped = _wrap(module)
        optimizer = _SystemNoise(
            self.make_optimizer(module.parameters()), rng=rng, noise=self.run.noise, clip=self.clip
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Full backward hook is firing")  # inputs need no gradient
            for step in range(self.run.steps):
                drawn = np.flatnonzero(rng.random(len(X)) < self.run.rate)
                self._step(wrapped, optimizer, X, y, drawn)
                if progress:
                    progress(step + 1, self.run.steps)
        wrapped.to_standard_module()

    def _step(
        self,
        wrapped: GradSampleModule,
        optimizer: _SystemNoise,
        X: torch.Tensor,
        y: torch.Tensor,
        drawn: NDArray[np.int64],
    ) -> None:
        for start in range(0, len(drawn), self.physical_batch):
            rows = torch.from_numpy(drawn[start : start + self.physical_batch]).to(X.device)
            self.loss(wrapped(X[rows]), y[rows]).sum().backward()  # type: ignore[no-untyped-call]
            optimizer.clip_and_accumulate()
        optimizer.add_noise()
        for p in optimizer.params:
            p.grad /= self.batch_size
        optimizer.original_optimizer.step()
        optimizer.original_optimizer.zero_grad()


def _wrap(module: torch.nn.Module) -> GradSampleModule:
    try:
        return GradSampleModule(module, loss_reduction="sum")
    except (NotImplementedError, ValueError) as error:
        raise InvalidInput(
            f"must have layers whose gradients Opacus takes row by row: {error}", field="module"
        ) from None
