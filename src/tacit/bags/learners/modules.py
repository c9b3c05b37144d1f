"""Parts as torch modules on the codes of their columns, or on their cells."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
from torch import nn

from tacit.bags.learners.cells import PartCells
from tacit.bags.learners.forest import ColumnCodes
from tacit.bags.learners.parts import MLP, Cross, Module
from tacit.privacy.errors import InvalidInput

__all__ = ["PartModules", "Perceptron"]


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


class PartModules(nn.Module):
    """The intercept and all parts as one torch module: its parameters are what is trained."""

    def __init__(
        self, cells: Sequence[PartCells], columns: Sequence[ColumnCodes], *, targets: int, share_embeddings: bool
    ) -> None:
        super().__init__()
        self.targets = targets
        place = {column.feature: i for i, column in enumerate(columns)}
        self.seen = [[place[feature] for feature in one.domain.features] for one in cells]
        self.by_cell = [isinstance(one.part, Cross) for one in cells]
        self.others = [one.domain.other for one in cells]
        self.intercept = nn.Parameter(torch.zeros(targets))
        shared: dict[tuple[int, int], nn.Embedding] | None = {} if share_embeddings else None
        self.parts = nn.ModuleList(
            _module(one, [(i, len(columns[i].values)) for i in seen], targets, shared)
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


def _module(
    cells: PartCells, sizes: Sequence[tuple[int, int]], targets: int, shared: dict[tuple[int, int], nn.Embedding] | None
) -> nn.Module:
    part = cells.part
    if isinstance(part, Cross):
        table = nn.Embedding(len(cells), targets)
        nn.init.zeros_(table.weight)
        return table
    if isinstance(part, MLP):
        return Perceptron([_embedding(i, n, part.embedding, shared) for i, n in sizes], part.hidden, targets)
    assert isinstance(part, Module)
    assert part.build is not None
    made = part.build([n for _, n in sizes], targets)
    if not isinstance(made, nn.Module):
        raise InvalidInput(f"build of {part} must return a torch module, got {made!r}")
    return _OneColumn(made) if len(sizes) == 1 and isinstance(made, nn.Embedding) else made


class _OneColumn(nn.Module):
    """An embedding of a part's only column: codes come as (rows, 1)."""

    def __init__(self, table: nn.Embedding) -> None:
        super().__init__()
        self.table = table

    def forward(self, codes: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.table(codes[:, 0])
        return result


def _embedding(
    column: int, values: int, width: int, shared: dict[tuple[int, int], nn.Embedding] | None
) -> nn.Embedding:
    if shared is None:
        return nn.Embedding(values + 1, width)
    return shared.setdefault((column, width), nn.Embedding(values + 1, width))
