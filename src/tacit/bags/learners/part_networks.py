"""The torch modules that parts are made of, on the codes of their columns or on their cells."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from tacit.bags.learners.cells import PartCells
from tacit.bags.learners.forest import ColumnCodes
from tacit.privacy.errors import InvalidInput

__all__ = ["PartInputs", "PartModules", "Perceptron"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartInputs:
    """What a part's network sees, and how many outputs it has.

    Parameters
    ----------
    sizes
        How many values each column has.
    """

    sizes: Sequence[int]
    cells: int
    targets: int

    def table(self) -> nn.Embedding:
        """Return an output per cell, 0 at first."""
        table = nn.Embedding(self.cells, self.targets)
        nn.init.zeros_(table.weight)
        return table

    def perceptron(self, *, embedding: int, hidden: Sequence[int]) -> Perceptron:
        """Return a perceptron on embeddings of this width."""
        return Perceptron([nn.Embedding(n + 1, embedding) for n in self.sizes], hidden, self.targets)

    def checked(self, made: object, *, name: str) -> nn.Module:
        """Return a module that a user built, or raise if it is none."""
        if not isinstance(made, nn.Module):
            raise InvalidInput(f"build of {name} must return a torch module, got {made!r}")
        return _OneColumn(made) if len(self.sizes) == 1 and isinstance(made, nn.Embedding) else made


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


class PartModules(nn.Module):
    """The intercept and all parts as one torch module: its parameters are what is trained."""

    def __init__(self, cells: Sequence[PartCells], columns: Sequence[ColumnCodes], *, targets: int) -> None:
        super().__init__()
        self.targets = targets
        place = {column.feature: i for i, column in enumerate(columns)}
        self.seen = [[place[feature] for feature in one.domain.features] for one in cells]
        self.by_cell = [one.part.by_cell for one in cells]
        self.others = [one.domain.other for one in cells]
        self.intercept = nn.Parameter(torch.zeros(targets))
        self.parts = nn.ModuleList(
            one.part.network(PartInputs(sizes=[len(columns[i].values) for i in seen], cells=len(one), targets=targets))
            for one, seen in zip(cells, self.seen, strict=True)
        )
        # the output of a network for the bag of too few rows, which has no key
        self.merged = nn.ParameterList(nn.Parameter(torch.zeros(targets)) for _ in cells)

    def add(self, outputs: Sequence[torch.Tensor]) -> torch.Tensor:
        """Return f, the intercept and all outputs together."""
        f: torch.Tensor = self.intercept
        for out in outputs:
            f = f + out
        return f

    def outputs(self, codes: torch.Tensor, cells: Sequence[torch.Tensor | None]) -> list[torch.Tensor]:
        """Return each part's output on rows, 0 where its cell is -1; None if no cell need be looked up."""
        made = []
        for j, part in enumerate(self.parts):
            cell = cells[j]
            out = part(codes[:, self.seen[j]]) if cell is None or not self.by_cell[j] else part(cell.clamp(min=0))
            if cell is None:
                made.append(out)
                continue
            if self.others[j] is not None and not self.by_cell[j]:
                out = torch.where(torch.eq(cell, self.others[j] or 0)[:, None], self.merged[j], out)
            made.append(out * (cell >= 0)[:, None])
        return made
