"""Views of the same row that have the same label, from which a representation without labels is learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tacit.privacy.errors import InvalidInput
from tacit.privacy.extras import load_extra

if TYPE_CHECKING:
    import torch

__all__ = ["AffineViews", "CorruptedViews", "RandomViews"]


class RandomViews(Protocol):
    """Draws another view of each row of a batch."""

    def draw(self, rows: torch.Tensor) -> torch.Tensor:
        """Return one view per row, by torch's own generator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AffineViews:
    """Images turned, slanted, scaled and moved a little, each by its own draw; what lies outside is 0.

    For drawings, digits, scans: things that stay what they are under this. Photographs want changes of color as well.

    Parameters
    ----------
    turn
        At most this angle either way, in radians.
    slant, scale, move
        At most this share of the side; ``scale`` in logarithms.
    """

    turn: float = 0.35
    slant: float = 0.3
    scale: float = 0.25
    move: float = 0.15

    def draw(self, rows: torch.Tensor) -> torch.Tensor:
        """Return one view per image."""
        library = load_extra("torch")
        turn, slant, scale, right, down = (2 * library.rand(5, len(rows), device=rows.device) - 1).unbind()
        cos, sin, slant = (turn * self.turn).cos(), (turn * self.turn).sin(), slant * self.slant
        scale = (scale * self.scale).exp()
        across = library.stack([scale * cos, scale * (slant * cos - sin), right * self.move])
        along = library.stack([scale * sin, scale * (slant * sin + cos), down * self.move])
        maps, functional = library.stack([across, along]).permute(2, 0, 1), library.nn.functional
        grid = functional.affine_grid(maps, list(rows.shape), align_corners=False)
        seen: torch.Tensor = functional.grid_sample(rows, grid, align_corners=False)
        return seen


@dataclass(frozen=True, slots=True, kw_only=True)
class CorruptedViews:
    """Rows of a table with a random share of the numbers taken from other rows of the batch, column by column.

    References
    ----------
    Bahri, Jiang, Tay and Metzler (2022), SCARF, Algorithm 1.
    """

    share: float = 0.3

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise InvalidInput(f"must be in [0, 1], got {self.share!r}", field="share")

    def draw(self, rows: torch.Tensor) -> torch.Tensor:
        """Return one view per row."""
        library, flat = load_extra("torch"), rows.flatten(1)
        other = flat.gather(0, library.randint(len(flat), flat.shape, device=flat.device))
        seen: torch.Tensor = library.where(library.rand_like(flat) < self.share, other, flat)
        return seen.reshape(rows.shape)
