"""Augmentation on the device, a batch at a time, each image by its own draw."""

from __future__ import annotations

import math
from functools import lru_cache

import torch
from torch import Tensor

MEAN, DEVIATION = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)  # of CIFAR-10's pixels; public features
PADDING = 4
TO_YIQ = ((0.299, 0.587, 0.114), (0.596, -0.274, -0.322), (0.211, -0.523, 0.312))
FROM_YIQ = tuple(map(tuple, torch.linalg.inv(torch.tensor(TO_YIQ)).tolist()))


@lru_cache
def _constant(values: tuple[object, ...], device: torch.device) -> Tensor:
    """Made once: a copy from the host in every batch would make the host wait for the device."""
    return torch.tensor(values, device=device)


def pad(images: Tensor) -> Tensor:
    """Return uint8 images (n, 32, 32, 3) with their borders mirrored, for :func:`crop`."""
    order = torch.cat([torch.arange(PADDING, 0, -1), torch.arange(32), torch.arange(30, 30 - PADDING, -1)]).to(
        images.device
    )
    return images[:, order][:, :, order]


def crop(padded: Tensor, rows: Tensor, *, shift: bool = True) -> Tensor:
    """Return the rows' images (b, 3, 32, 32) in [0, 1], mirrored and shifted by up to four pixels at random."""
    b, device = len(rows), padded.device
    line = torch.arange(32, device=device)
    if shift:
        top, left = torch.randint(0, 2 * PADDING + 1, (2, b, 1), device=device)
        mirrored = torch.rand(b, 1, device=device) < 0.5
    else:
        top = left = torch.full((b, 1), PADDING, device=device)
        mirrored = torch.zeros(b, 1, dtype=torch.bool, device=device)
    ys, xs = top + line, left + torch.where(mirrored, 31 - line, line)
    # gathered as (b, y, x, channel): seen as (b, channel, y, x) that is channels-last already
    return padded[rows[:, None, None], ys[:, :, None], xs[:, None, :]].permute(0, 3, 1, 2).float() / 255


def cutout(x: Tensor, *, side: int) -> Tensor:
    """Return images with one square of their own each set to their mean color."""
    b, _, height, width = x.shape
    middle = torch.rand(2, b, 1, device=x.device)
    rows = (torch.arange(height, device=x.device) - middle[0] * height).abs() < side / 2
    columns = (torch.arange(width, device=x.device) - middle[1] * width).abs() < side / 2
    hidden = (rows[:, :, None] & columns[:, None, :])[:, None]
    return torch.where(hidden, _constant(MEAN, x.device)[:, None, None], x)


def normalize(x: Tensor) -> Tensor:
    """Scale pixels to mean 0 and deviation 1, channels last in memory."""
    mean, deviation = (_constant(values, x.device)[:, None, None] for values in (MEAN, DEVIATION))
    return ((x - mean) / deviation).contiguous(memory_format=torch.channels_last)


def resized_crop(x: Tensor, *, side: int, least: float = 0.2) -> Tensor:
    """Return a part of each image with ``least`` to all of its area and sides up to 3 : 4, mirrored or not.

    The result has ``side`` pixels a side. A side of 24 leaves the middle-sized part at its own scale, which is that of
    whole images later, and costs a little over half of 32.
    """
    b = len(x)
    draw = torch.rand(5, b, device=x.device)
    area, ratio = least + (1 - least) * draw[0], torch.exp((2 * draw[1] - 1) * math.log(4 / 3))
    width, height = (area * ratio).sqrt().clamp(max=1.0), (area / ratio).sqrt().clamp(max=1.0)
    across, down = (1 - width) * (2 * draw[2] - 1), (1 - height) * (2 * draw[3] - 1)
    sign = torch.where(draw[4] < 0.5, -1.0, 1.0)
    zero = torch.zeros_like(area)
    theta = torch.stack([torch.stack([sign * width, zero, across]), torch.stack([zero, height, down])]).permute(2, 0, 1)
    grid = torch.nn.functional.affine_grid(theta, [b, 3, side, side], align_corners=False)
    return torch.nn.functional.grid_sample(x, grid, padding_mode="reflection", align_corners=False)


def jitter(x: Tensor, *, strength: float = 1.0, often: float = 0.8, gray: float = 0.2) -> Tensor:
    """Return images with brightness, contrast, saturation and hue changed, some in gray."""
    b, device = len(x), x.device

    def between(reach: float) -> Tensor:
        changed = torch.rand(b, device=device) < often
        return torch.where(changed, (2 * torch.rand(b, device=device) - 1) * reach * strength, 0.0)

    bright, contrast, saturation, hue = between(0.4), between(0.4), between(0.4), between(0.1)
    saturation = torch.where(torch.rand(b, device=device) < gray, torch.full_like(saturation, -1.0), saturation)
    matrix = (1 + bright)[:, None, None] * (_saturate(1 + saturation) @ _turn(2 * math.pi * hue))
    mean = x.mean(dim=(1, 2, 3), keepdim=True)
    x = (x - mean) * (1 + contrast)[:, None, None, None] + mean
    return torch.einsum("bij,bjhw->bihw", matrix, x).clamp(0, 1)


def _saturate(amount: Tensor) -> Tensor:
    """1 leaves colors as they are, 0 makes them gray."""
    weights = _constant(TO_YIQ[:1], amount.device).expand(3, 3)
    return amount[:, None, None] * torch.eye(3, device=amount.device) + (1 - amount)[:, None, None] * weights


def _turn(angle: Tensor) -> Tensor:
    """Turn hues: a rotation of the two color axes of YIQ."""
    to = _constant(TO_YIQ, angle.device)
    turned = torch.eye(3, device=angle.device).repeat(len(angle), 1, 1)
    turned[:, 1, 1] = turned[:, 2, 2] = angle.cos()
    turned[:, 1, 2], turned[:, 2, 1] = -angle.sin(), angle.sin()
    return _constant(FROM_YIQ, angle.device) @ turned @ to


def bend(x: Tensor) -> Tensor:
    """Return images turned, slanted, scaled and moved a little."""
    b = len(x)
    angle, slant, scale, across, down = (2 * torch.rand(5, b, device=x.device) - 1).unbind()
    angle, slant, scale = angle * math.pi / 8, slant * 0.3, torch.exp(scale * 0.2)
    theta = torch.stack(
        [
            torch.stack([scale * angle.cos(), scale * (slant * angle.cos() - angle.sin()), across * 0.2]),
            torch.stack([scale * angle.sin(), scale * (slant * angle.sin() + angle.cos()), down * 0.2]),
        ]
    ).permute(2, 0, 1)
    grid = torch.nn.functional.affine_grid(theta, list(x.shape), align_corners=False)
    return torch.nn.functional.grid_sample(x, grid, padding_mode="reflection", align_corners=False)


def strengthen(x: Tensor) -> Tensor:
    """Return images bent, in other colors and with a hole; every other one only with the hole."""
    plain = torch.rand(len(x), 1, 1, 1, device=x.device) < 0.5
    return cutout(torch.where(plain, x, jitter(bend(x), gray=0.1)), side=14)
