"""What an additive model is fitted to, and the settings of a network's training; needs no torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.bags.learners.cells import PartCells
from tacit.bags.learners.penalty import Penalty
from tacit.bags.losses import SemilinearLoss
from tacit.bags.partition import Partition
from tacit.privacy.edge import Progress
from tacit.privacy.errors import InvalidInput
from tacit.privacy.lazy import lazy_method

__all__ = ["AdditiveFit", "BatchTraining"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AdditiveFit:
    """What a solver fits: the cells of all parts to the totals of partitions, on the features of the rows."""

    cells: Sequence[PartCells]
    partitions: Sequence[Partition]
    features: Any
    loss: SemilinearLoss
    penalty: Penalty
    recalibrate: bool = False
    seed: int | None = None
    progress: Progress | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTraining:
    """Mini-batch training; under ``torchrun`` each process takes its share of every batch.

    Parameters
    ----------
    epochs
        Passes over the rows.
    batch_rows
        Rows of one step over all processes together; None takes all rows, which makes steps deterministic.
    rate
        Learning rate.
    optimizer
        Called with the parameters and the rate; returns a torch optimizer. None takes Adam.
    device
        ``"cpu"``, ``"cuda"``, ...; None takes a GPU where there is one.
    double
        Compute in float64 instead of float32.
    block_rows
        Rows that are held in memory at a time when ``features`` is a path or a table in an engine; batches are
        shuffled inside blocks, and blocks among each other.
    """

    fit = lazy_method("tacit.bags.learners.network", "fit_network")  # torch is an extra

    epochs: int = 5
    batch_rows: int | None = 1024
    rate: float = 0.01
    optimizer: Callable[[Any, float], Any] | None = None
    device: str | None = None
    double: bool = False
    block_rows: int = 1 << 18

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_rows", "block_rows"):
            given = getattr(self, name)
            if given is not None and given < 1:
                raise InvalidInput(f"{name} must be >= 1, got {given!r}")
        if not self.rate > 0:
            raise InvalidInput(f"must be > 0, got {self.rate!r}", field="rate")
