"""Views of images that a label would not distinguish, drawn for a whole batch at once."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

__all__ = ["patch_views", "plain_views", "strong_views", "weak_views"]

_LUMINANCE = (0.299, 0.587, 0.114)
_YIQ = ((0.299, 0.587, 0.114), (0.596, -0.274, -0.322), (0.211, -0.523, 0.312))
_RGB = tuple(map(tuple, torch.linalg.inv(torch.tensor(_YIQ)).tolist()))  # to invert on a GPU would wait for it
_GREATEST_SHIFT = 1 / 8  # of the side
_CENTER, _SPREAD = 0.47, 0.25  # of pixels from 0 to 1, roughly, in any photographs


def plain_views(images: Tensor) -> Tensor:
    """Return images of bytes as numbers around 0."""
    return (images.float() / 255 - _CENTER) / _SPREAD


def weak_views(images: Tensor) -> Tensor:
    """Return each image moved by up to an eighth of its side, and mirrored or not."""
    right, down = 2 * _GREATEST_SHIFT * _between(-1, 1, 2, len(images), like=images)
    zero, one = torch.zeros_like(right), torch.ones_like(right)
    return plain_views(255 * _sampled(images, [[_signs(images), zero, right], [zero, one, down]], images.shape[2:]))


def patch_views(images: Tensor, *, side: int, colored: bool = True) -> Tensor:
    """Return a quarter of each image's area from anywhere in it, mirrored or not, in other colors."""
    half = torch.full((len(images),), 0.5, device=images.device)
    right, down = _between(-0.5, 0.5, 2, len(images), like=images)
    zero = torch.zeros_like(half)
    seen = _sampled(images, [[half * _signs(images), zero, right], [zero, half, down]], (side, side))
    if colored:
        seen = _solarized(_recolored(seen, images, strength=0.4, hue=0.1, share=0.8, gray=0.2), share=0.1)
    return plain_views(255 * seen)


def strong_views(images: Tensor) -> Tensor:
    """Return each image turned, slanted, scaled, moved, mirrored and recolored, with a square cut out."""
    seen = _sampled(images, _random_maps(images), images.shape[2:])
    seen = _recolored(seen, images, strength=0.5, hue=0.06, share=0.7, gray=0.05)
    seen = _solarized(seen, share=0.08)
    seen = torch.where(_chosen(0.04, images), 1 - seen, seen)
    seen = torch.where(_chosen(0.1, images), (seen * 8).floor() / 8, seen)
    return plain_views(255 * seen) * _uncut(images)


def _random_maps(images: Tensor) -> list[list[Tensor]]:
    """Return the entries of an affine map per image, each change in some of them only."""
    turn = _some(0.4, math.pi / 6, images)
    slant_right, slant_down = _some(0.3, 0.3, images), _some(0.3, 0.3, images)
    zoom = 1 - _some(0.3, 0.2, images)
    right, down = _between(-0.3, 0.3, 2, len(images), like=images)
    cosine, sine, mirror = torch.cos(turn) * zoom, torch.sin(turn) * zoom, _signs(images)
    return [
        [(cosine + sine * slant_down) * mirror, cosine * slant_right - sine, right],
        [(sine + cosine * slant_down) * mirror, cosine + sine * slant_right, down],
    ]


def _sampled(images: Tensor, maps: list[list[Tensor]], shape: tuple[int, ...]) -> Tensor:
    """Return the pixels, from 0 to 1, that maps of the plane lead to; what lies outside is mirrored in."""
    theta = torch.stack([torch.stack(row, dim=1) for row in maps], dim=1)
    grid = functional.affine_grid(theta, [len(images), images.shape[1], *shape], align_corners=False)
    return functional.grid_sample(images.float() / 255, grid, padding_mode="reflection", align_corners=False)


def _recolored(seen: Tensor, images: Tensor, *, strength: float, hue: float, share: float, gray: float) -> Tensor:
    """Change brightness, contrast, saturation and hue of some images; a few become gray.

    All of that is one affine map of the colors, so it costs one pass over the pixels. Contrast is around the gray mean
    of the whole image.
    """
    if seen.shape[1] != 3:
        brightness = 1 + strength * _between(-1, 1, len(seen), like=seen)
        return (seen * brightness[:, None, None, None]).clamp(0, 1)
    luminance = torch.tensor(_LUMINANCE, device=seen.device)
    brightness, contrast, saturation = 1 + strength * _between(-1, 1, 3, len(seen), like=seen)
    angle = 2 * math.pi * hue * _between(-1, 1, len(seen), like=seen)
    changed = _chosen(share, seen)[:, 0, 0, 0]
    other = brightness[:, None, None] * _turned_hue(angle, saturation)
    colors = torch.where(changed[:, None, None], other, torch.eye(3, device=seen.device))
    colors = torch.where(_chosen(gray, seen)[:, 0], luminance.expand(len(seen), 3, 3), colors)
    contrast = torch.where(changed, contrast, torch.ones_like(contrast))
    mean = (colors @ (images.float().mean(dim=(2, 3)) / 255)[:, :, None])[:, :, 0] @ luminance
    mixed = torch.einsum("nij,njhw->nihw", colors * contrast[:, None, None], seen)
    return (mixed + ((1 - contrast) * mean)[:, None, None, None]).clamp(0, 1)


def _turned_hue(angle: Tensor, saturation: Tensor) -> Tensor:
    """Return color matrices that turn the plane of hues, and stretch it."""
    yiq, rgb = torch.tensor(_YIQ, device=angle.device), torch.tensor(_RGB, device=angle.device)
    cosine, sine = angle.cos() * saturation, angle.sin() * saturation
    zero, one = torch.zeros_like(angle), torch.ones_like(angle)
    rows = [[one, zero, zero], [zero, cosine, -sine], [zero, sine, cosine]]
    turn = torch.stack([torch.stack(row, dim=1) for row in rows], dim=1)
    colors: Tensor = rgb @ turn @ yiq
    return colors


def _solarized(seen: Tensor, *, share: float) -> Tensor:
    return torch.where(_chosen(share, seen) & (seen > 0.5), 1 - seen, seen)


def _uncut(images: Tensor) -> Tensor:
    """Return 0 in a square of up to half the side, in some images, and 1 elsewhere."""
    side = images.shape[3]
    half = side / 4 * _between(0, 1, len(images), like=images) * (torch.rand(len(images), device=images.device) < 0.6)
    across, along = side * _between(0, 1, 2, len(images), like=images)
    places = torch.arange(side, device=images.device)
    near_across = (places[None, None, :] - across[:, None, None]).abs() < half[:, None, None]
    near_along = (places[None, :, None] - along[:, None, None]).abs() < half[:, None, None]
    cut: Tensor = near_across & near_along
    return (~cut)[:, None]


def _between(low: float, high: float, *shape: int, like: Tensor) -> Tensor:
    return low + (high - low) * torch.rand(*shape, device=like.device)


def _some(share: float, most: float, images: Tensor) -> Tensor:
    """Return a number up to ``most`` either way for a share of the images, else 0."""
    drawn = most * _between(-1, 1, len(images), like=images)
    return drawn * (torch.rand(len(images), device=images.device) < share)


def _chosen(share: float, images: Tensor) -> Tensor:
    return (torch.rand(len(images), device=images.device) < share)[:, None, None, None]


def _signs(images: Tensor) -> Tensor:
    return 1 - 2 * (torch.rand(len(images), device=images.device) < 0.5).float()
