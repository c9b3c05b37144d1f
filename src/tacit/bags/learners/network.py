"""Networks as parts, trained from bag means attached to rows: one forward pass, as with individual labels."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from tacit.bags.learners.batches import EncodedRows, batches, encode, vocabulary
from tacit.bags.learners.cells import PartCells
from tacit.bags.learners.core import overall_total, part_penalty, reachable_total, typical_curvature
from tacit.bags.learners.forest import ColumnCodes
from tacit.bags.learners.part_networks import PartModules
from tacit.bags.learners.penalty import Penalty
from tacit.bags.learners.processes import TrainingProcesses
from tacit.bags.learners.training import AdditiveFit, BatchTraining
from tacit.bags.losses import SemilinearLoss
from tacit.bags.partition import Partition
from tacit.privacy.edge import Progress

__all__ = ["AdditiveNetwork", "BagTargets", "bag_loss", "fit_network"]

Floats = NDArray[np.float64]

_BLOCK_ROWS = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BagTargets:
    """The information of the rows' bags, as lookup tables: means of T(y) per partition, and penalties per part."""

    loss: SemilinearLoss
    mean: torch.Tensor  # the mean of T(y) over all rows
    source: tuple[int, ...]  # for each part the place of its partition among those in use
    means: tuple[torch.Tensor, ...]  # for each partition in use (bags, targets): the mean of T(y) in each bag
    cell_of_bag: tuple[torch.Tensor, ...]  # for each part the cell of each bag
    # for each part the penalty a row of each cell carries; None if all are 0
    strengths: tuple[torch.Tensor | None, ...]
    # for each part whether its cell must be looked up: not for a network whose every row has a bag with a key
    needed: tuple[bool, ...]

    def cells(self, bags: torch.Tensor) -> list[torch.Tensor | None]:
        """Return each part's cell of rows, from their bags, where it is needed."""
        made: list[torch.Tensor | None] = []
        for table, source, needed in zip(self.cell_of_bag, self.source, self.needed, strict=True):
            bag = bags[:, source]
            made.append(torch.where(bag >= 0, table[bag.clamp(min=0)], -1) if needed else None)
        return made


def bag_loss(modules: PartModules, targets: BagTargets, codes: torch.Tensor, bags: torch.Tensor) -> torch.Tensor:
    """Return the sum over rows of b(f) - w_0'mean - sum_j f_j'mean_j, plus the penalty.

    Over all rows its gradient is that of the individual labels: sum_x f_j'T(y) is the sum over bags of f_j at the
    bag times the bag's total, because f_j is constant on a bag. Over a batch it is an unbiased estimate of it.

    References
    ----------
    Chen et al. (2023), Theorem 1.
    """
    cells = targets.cells(bags)
    outputs = modules.outputs(codes, cells)
    value = targets.loss.tensor_potential(modules.add(outputs)).sum() - len(codes) * (modules.intercept @ targets.mean)
    for s, table in enumerate(targets.means):
        ours = [out for out, source in zip(outputs, targets.source, strict=True) if source == s]
        # rows of no bag have output 0, so whatever mean they look up (that of the last bag) is multiplied by 0
        value = value - (functools.reduce(torch.add, ours) * table[bags[:, s]]).sum()
    for out, cell, strength in zip(outputs, cells, targets.strengths, strict=True):
        if strength is not None and cell is not None:
            value = value + (strength[cell.clamp(min=0)] * (out**2).sum(dim=1)).sum() / 2
    return value


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AdditiveNetwork:
    """A trained sum of networks."""

    modules: PartModules
    cells: tuple[PartCells, ...]
    columns: tuple[ColumnCodes, ...]
    steps: int

    @property
    def intercept(self) -> Floats:
        """w_0, one number per target."""
        return self.modules.intercept.detach().cpu().numpy().astype(np.float64)

    def predict(self, rows: pa.Table) -> Floats:
        """Return f of each row; a network is 0 for values that no bag has, unless small bags were merged."""
        blocks = [self._predict(rows.slice(a, _BLOCK_ROWS)) for a in range(0, rows.num_rows, _BLOCK_ROWS)]
        return np.concatenate(blocks or [np.zeros((0, self.modules.targets))])

    def _predict(self, rows: pa.Table) -> Floats:
        codes = torch.from_numpy(np.stack([one.encode(rows) + 1 for one in self.columns], axis=1))
        cells = [self._cell(j, rows, codes) for j in range(len(self.cells))]
        with torch.no_grad():
            f = self.modules.add(self.modules.outputs(codes, cells))
        return f.numpy().astype(np.float64)

    def _cell(self, j: int, rows: pa.Table, codes: torch.Tensor) -> torch.Tensor:
        other = self.cells[j].domain.other
        if self.modules.by_cell[j]:
            return torch.from_numpy(self.cells[j].domain.assign(rows))
        # a network answers for new combinations of known values: any cell number but that of merged bags will do
        known = (codes[:, self.modules.seen[j]] > 0).all(dim=1)
        inside = len(self.cells[j])
        return torch.where(known, inside, -1 if other is None else other)


def fit_network(training: BatchTraining, given: AdditiveFit) -> AdditiveNetwork:
    """Train all parts together by mini-batches."""
    cells, loss = given.cells, given.loss
    with TrainingProcesses.join(training.device) as processes:
        start = processes.agree(int(np.random.default_rng(given.seed).integers(2**31)))
        sources = sorted({one.source for one in cells})
        used = [given.partitions[source] for source in sources]
        columns = vocabulary(cells)
        with encode(given.features, columns, used, block_rows=training.block_rows) as rows:
            dtype = torch.float64 if training.double else torch.float32
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(start)
                modules = PartModules(cells, columns, targets=loss.targets).to(device=processes.device, dtype=dtype)
            targets = _targets(cells, used, sources, rows, loss=loss, penalty=given.penalty, like=modules.intercept)
            with torch.no_grad():
                modules.intercept.copy_(torch.from_numpy(loss.link(targets.mean.cpu().double().numpy()[None, :])[0]))
            processes.broadcast(modules)
            steps = _train(modules, targets, rows, training, processes, seed=start, progress=given.progress)
            if given.recalibrate:
                _recalibrate(modules, targets, rows, training, processes.device)
    return AdditiveNetwork(modules=modules.cpu().eval(), cells=tuple(cells), columns=columns, steps=steps)


def _train(
    modules: PartModules,
    targets: BagTargets,
    rows: EncodedRows,
    training: BatchTraining,
    processes: TrainingProcesses,
    *,
    seed: int,
    progress: Progress | None,
) -> int:
    parameters = [p for p in modules.parameters() if p.requires_grad]
    if training.optimizer is None:
        optimizer = torch.optim.Adam(parameters, lr=training.rate)
    else:
        optimizer = training.optimizer(parameters, training.rate)
    rng = np.random.default_rng(seed)
    per_epoch = 1 if training.batch_rows is None else -(-len(rows) // training.batch_rows)
    steps = 0
    for _ in range(training.epochs):
        order = batches(
            rows,
            batch_rows=training.batch_rows,
            block_rows=training.block_rows,
            rng=rng,
            share=(processes.rank, processes.world),
        )
        for size, codes, bags in order:
            optimizer.zero_grad(set_to_none=True)
            value = bag_loss(modules, targets, *_tensors(codes, bags, processes.device)) / size
            value.backward()  # type: ignore[no-untyped-call]
            processes.add_up(parameters)
            optimizer.step()
            steps += 1
            if progress is not None and processes.rank == 0:
                progress(min(steps, training.epochs * per_epoch), training.epochs * per_epoch)
    return steps


def _targets(
    cells: Sequence[PartCells],
    used: Sequence[Partition],
    sources: Sequence[int],
    rows: EncodedRows,
    *,
    loss: SemilinearLoss,
    penalty: Penalty,
    like: torch.Tensor,
) -> BagTargets:
    counts = [_count(rows, i, len(one)) for i, one in enumerate(used)]
    released = overall_total(used, [int(count.sum()) for count in counts], len(rows))
    total = reachable_total(loss, released, len(rows))
    typical = typical_curvature(loss, total, len(rows))
    source = tuple(sources.index(one.source) for one in cells)
    strengths: list[torch.Tensor | None] = []
    for one, place in zip(cells, source, strict=True):
        inside = np.bincount(one.cell_of_bag, counts[place], minlength=len(one)).astype(np.float64)
        fitted = part_penalty(penalty, one, inside, loss=loss, total=total, of=len(rows))
        strength = fitted.strengths(typical * inside, one.noise) / np.maximum(inside, 1)
        strengths.append(_like(strength, like) if strength.any() else None)
    return BagTargets(
        loss=loss,
        mean=_like(total / len(rows), like),
        source=source,
        means=tuple(_like(p.totals / np.maximum(n, 1)[:, None], like) for p, n in zip(used, counts, strict=True)),
        cell_of_bag=tuple(torch.from_numpy(one.cell_of_bag).to(like.device) for one in cells),
        strengths=tuple(strengths),
        needed=tuple(
            one.part.by_cell or strength is not None or one.domain.other is not None or counts[place].sum() < len(rows)
            for one, place, strength in zip(cells, source, strengths, strict=True)
        ),
    )


def _recalibrate(
    modules: PartModules, targets: BagTargets, rows: EncodedRows, training: BatchTraining, device: torch.device
) -> None:
    """Move the intercept by Newton steps until predictions have the released mean."""
    for _ in range(10):
        gap, slope = torch.zeros_like(targets.mean), torch.zeros_like(targets.mean)
        for _, codes, bags in batches(rows, batch_rows=_BLOCK_ROWS, block_rows=training.block_rows, rng=None):
            on_device = _tensors(codes, bags, device)
            with torch.no_grad():
                outputs = modules.outputs(on_device[0], targets.cells(on_device[1]))
                f = modules.add(outputs).double().cpu().numpy()
            gap += _like(targets.loss.mean(f).sum(axis=0), gap)
            slope += _like(targets.loss.curvature(f).sum(axis=0), slope)
        with torch.no_grad():
            modules.intercept.sub_((gap - len(rows) * targets.mean) / slope.clamp(min=1e-12))


def _tensors(
    codes: NDArray[np.int32], bags: NDArray[np.int32], device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    return (
        torch.from_numpy(np.ascontiguousarray(codes)).to(device).long(),
        torch.from_numpy(np.ascontiguousarray(bags)).to(device).long(),
    )


def _like(values: Floats, like: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(values)).to(device=like.device, dtype=like.dtype)


def _count(rows: EncodedRows, place: int, bags: int) -> NDArray[np.int64]:
    counts = np.zeros(bags + 1, dtype=np.int64)
    for start in range(0, len(rows), 1 << 20):
        counts += np.bincount(rows.bags[start : start + (1 << 20), place] + 1, minlength=bags + 1)
    return counts[1:]
