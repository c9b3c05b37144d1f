"""Parts as torch modules on the codes of their columns, or on their cells."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from tacit.bags.learners.cells import PartCells
from tacit.bags.learners.forest import ColumnCodes
from tacit.bags.learners.part_networks import PartInputs

__all__ = ["PartModules"]


class PartModules(nn.Module):
    """The intercept and all parts as one torch module: its parameters are what is trained."""

    def __init__(
        self, cells: Sequence[PartCells], columns: Sequence[ColumnCodes], *, targets: int, share_embeddings: bool
    ) -> None:
        super().__init__()
        self.targets = targets
        place = {column.feature: i for i, column in enumerate(columns)}
        self.seen = [[place[feature] for feature in one.domain.features] for one in cells]
        self.by_cell = [one.part.by_cell for one in cells]
        self.others = [one.domain.other for one in cells]
        self.intercept = nn.Parameter(torch.zeros(targets))
        shared: dict[tuple[int, int], nn.Embedding] | None = {} if share_embeddings else None
        self.parts = nn.ModuleList(
            one.part.network(
                PartInputs(
                    columns=seen,
                    sizes=[len(columns[i].values) for i in seen],
                    cells=len(one),
                    targets=targets,
                    shared=shared,
                )
            )
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
