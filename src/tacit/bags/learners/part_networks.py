"""The torch modules that parts are made of."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from tacit.privacy.errors import InvalidInput

__all__ = ["PartInputs", "Perceptron"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartInputs:
    """What a part's network sees, and how many outputs it has.

    Parameters
    ----------
    columns
        The place of each column among those of all parts.
    sizes
        How many values each column has.
    shared
        The embeddings of all parts that share them, by column and width; None if none are shared.
    """

    columns: Sequence[int]
    sizes: Sequence[int]
    cells: int
    targets: int
    shared: dict[tuple[int, int], nn.Embedding] | None

    def table(self) -> nn.Embedding:
        """Return an output per cell, 0 at first."""
        table = nn.Embedding(self.cells, self.targets)
        nn.init.zeros_(table.weight)
        return table

    def perceptron(self, *, embedding: int, hidden: Sequence[int]) -> Perceptron:
        """Return a perceptron on embeddings of this width."""
        seen = zip(self.columns, self.sizes, strict=True)
        return Perceptron([self._embedding(i, n, embedding) for i, n in seen], hidden, self.targets)

    def checked(self, made: object, *, name: str) -> nn.Module:
        """Return a module that a user built, or raise if it is none."""
        if not isinstance(made, nn.Module):
            raise InvalidInput(f"build of {name} must return a torch module, got {made!r}")
        return _OneColumn(made) if len(self.sizes) == 1 and isinstance(made, nn.Embedding) else made

    def _embedding(self, column: int, values: int, width: int) -> nn.Embedding:
        if self.shared is None:
            return nn.Embedding(values + 1, width)
        return self.shared.setdefault((column, width), nn.Embedding(values + 1, width))


class Perceptron(nn.Module):
    """Embeddings of the columns, hidden layers with ReLU, and one output per target, 0 at first."""

    def __init__(self, embeddings: Sequence[nn.Embedding], hidden: Sequence[int], targets: int) -> None:
        super().__init__()
        self.embeddings = nn.ModuleList(embeddings)
        widths = [sum(one.embedding_dim for one in embeddings), *hidden]
        layers: list[nn.Module] = []
        for a, b in itertools.pairwise(widths):
            layers += [nn.Linear(a, b), nn.ReLU()]
        last = nn.Linear(widths[-1], targets)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.layers = nn.Sequential(*layers, last)

    def forward(self, codes: torch.Tensor) -> torch.Tensor:
        """Return the outputs of rows of codes."""
        read = [table(codes[:, i]) for i, table in enumerate(self.embeddings)]
        result: torch.Tensor = self.layers(torch.cat(read, dim=1))
        return result


class _OneColumn(nn.Module):
    """An embedding of a part's only column: codes come as (rows, 1)."""

    def __init__(self, table: nn.Embedding) -> None:
        super().__init__()
        self.table = table

    def forward(self, codes: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.table(codes[:, 0])
        return result
