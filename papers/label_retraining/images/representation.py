"""A representation from the images alone: Barlow Twins (Zbontar et al. 2021). It costs no privacy."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from papers.label_retraining.images import augment
from papers.label_retraining.images.given import Given
from papers.label_retraining.images.neighbors import nearest
from papers.label_retraining.images.network import ResNet
from papers.label_retraining.images.training import Trainer, compile_or_not, say

SHARD = 6_500_000  # half-precision numbers in a file: 12.4 MiB


@dataclass(frozen=True, slots=True, kw_only=True)
class Twins:
    """How it is learned: ``side`` is that of the views, ``weight`` that of what two dimensions share."""

    seconds: float = 360.0
    batch: int = 1024
    side: int = 24
    rate: float = 2e-3
    decay: float = 1e-2
    width: int = 2048
    weight: float = 0.005
    most_steps: int = 1_000_000


class Body(nn.Module):
    """The network without its head, and the projector: one call, so that it is compiled as one."""

    def __init__(self, network: ResNet | Given, width: int) -> None:
        super().__init__()
        self.network = network
        self.projector = projector(network.features, width)

    def forward(self, x: Tensor) -> Tensor:
        """Return what the loss correlates."""
        told: Tensor = self.projector(self.network.represent(x))
        return told


def projector(features: int, width: int) -> nn.Module:
    """Three layers, as published; the last without normalization, which the loss does."""
    return nn.Sequential(
        nn.Linear(features, width, bias=False),
        nn.BatchNorm1d(width),
        nn.ReLU(),
        nn.Linear(width, width, bias=False),
        nn.BatchNorm1d(width),
        nn.ReLU(),
        nn.Linear(width, width, bias=False),
    )


def twins_loss(one: Tensor, other: Tensor, *, weight: float) -> Tensor:
    """Sum of (1 - C_ii)^2, and ``weight`` times that of C_ij^2 off the diagonal; C correlates the views' dimensions."""
    one, other = ((z - z.mean(0)) / (z.std(0) + 1e-4) for z in (one.float(), other.float()))
    with torch.autocast(one.device.type, enabled=False):
        C = one.T @ other / len(one)
    same = C.diagonal()
    return ((1 - same) ** 2).sum() + weight * ((C**2).sum() - (same**2).sum())


def learn(trainer: Trainer, *, how: Twins, seed: int) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Train for ``how.seconds`` by the clock; return the body's weights, which the trainer's network has too."""
    device = trainer.device
    body = Body(trainer.build(seed=seed), how.width).to(device)
    call = compile_or_not(body) if trainer.settings.compiled else body
    pixels = trainer.padded[:, augment.PADDING : -augment.PADDING, augment.PADDING : -augment.PADDING]
    images = pixels.permute(0, 3, 1, 2).float() / 255
    optimizer = torch.optim.AdamW(body.parameters(), lr=how.rate, weight_decay=how.decay, fused=device.type == "cuda")
    begun, step, told, loss = time.perf_counter(), 0, 0.0, torch.zeros(())
    while step < how.most_steps:
        if step % 10 == 0:
            # the clock sets the rate: waiting for the device now and then keeps the host from running ahead
            trainer.wait()
            if step == 10:
                begun = time.perf_counter()  # what compiling took does not count
            share = max((time.perf_counter() - begun) / how.seconds, step / how.most_steps)
            if share >= 1:
                break
            for group in optimizer.param_groups:
                group["lr"] = how.rate * min(1.0, share / 0.04 + 0.02) * (0.5 + 0.5 * math.cos(math.pi * share))
        rows = torch.randint(0, len(images), (how.batch,), device=device)
        both = torch.cat([_view(images[rows], how), _view(images[rows], how)])
        with trainer.bfloat16():
            one, other = call(both).chunk(2)
        loss = twins_loss(one, other, weight=how.weight)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        step += 1
        if time.perf_counter() - told > 20:
            told = time.perf_counter()
            say(f"representation: {share:.2f} of the time, step {step}, loss {float(loss.detach()):.1f}")
    trainer.wait()
    seconds = time.perf_counter() - begun
    trainer.network.load_state_dict(body.network.state_dict())
    told_by = {
        "steps": step,
        "epochs": round(step * how.batch / len(images), 1),
        "loss": float(loss.detach()),
        "pairs_per_second": round(max(step - 10, 1) * how.batch / seconds),
    }
    say(f"representation: {told_by}")
    return {name: value.detach().clone() for name, value in trainer.network.body.state_dict().items()}, told_by


def _view(x: Tensor, how: Twins) -> Tensor:
    return augment.normalize(augment.jitter(augment.resized_crop(x, side=how.side)))


@torch.no_grad()
def judge(trainer: Trainer, *, count: int = 20) -> dict[str, float]:
    """Return, by true labels, what a linear model and neighbors tell of test images; and neighbors' purity."""
    train, test = features(trainer)
    wanted = torch.nn.functional.one_hot(trainer.truth, trainer.classes).float()
    mean, scale = train.mean(dim=0), train.std(dim=0) + 1e-6
    one, two = ((torch.nn.functional.pad((part - mean) / scale, (0, 1), value=1.0)).double() for part in (train, test))
    ridge = one.T @ one + 10 * torch.eye(one.shape[1], device=one.device, dtype=torch.float64)
    linear = (two @ torch.linalg.solve(ridge, one.T @ wanted.double())).argmax(dim=1)
    unit = [torch.nn.functional.normalize(part - mean, dim=1) for part in (train, test)]
    alike = (unit[1] @ unit[0].T).topk(min(count, len(train)), dim=1)
    votes = (wanted[alike.indices] * (alike.values / 0.1).exp()[..., None]).sum(dim=1).argmax(dim=1)
    near = torch.from_numpy(nearest(train, count=min(300, len(train) // 10))).to(train.device)
    return {
        "linear": float((linear == trainer.test_truth).float().mean()),
        "neighbors": float((votes == trainer.test_truth).float().mean()),
        "purity": float((trainer.truth[near] == trainer.truth[:, None]).float().mean()),
    }


def features(trainer: Trainer) -> tuple[Tensor, Tensor]:
    """Return the features of training and test images in the trainer's network."""
    train, test = (
        trainer.read(trainer.network, padded, torch.arange(len(padded), device=trainer.device), represent=True)
        for padded in (trainer.padded, trainer.padded_test)
    )
    return train, test


def save(body: dict[str, Tensor], folder: Path) -> None:
    """Write the weights in half precision, in files of at most 13 MiB."""
    flat = torch.cat([value.detach().float().flatten() for value in body.values()]).half().cpu().numpy()
    for number, start in enumerate(range(0, len(flat), SHARD)):
        np.save(folder / f"representation{number}.npy", flat[start : start + SHARD])


def load(trainer: Trainer, *folders: Path) -> dict[str, Tensor] | None:
    """Read what :func:`save` wrote, from the first folder that holds it."""
    for folder in folders:
        paths = sorted(folder.glob("representation[0-9].npy"))
        if not paths:
            continue
        flat = torch.from_numpy(np.concatenate([np.load(path) for path in paths])).float().to(trainer.device)
        body, start = {}, 0
        for name, value in trainer.network.body.state_dict().items():
            body[name] = flat[start : start + value.numel()].view(value.shape).to(value.dtype)
            start += value.numel()
        return body
    return None
