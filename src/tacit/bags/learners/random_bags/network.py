"""A network on rows, trained by mini-batches of random bags."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import nn

from tacit.bags.learners.random_bags.noise import membership
from tacit.bags.learners.random_bags.objectives import RandomBagObjective
from tacit.bags.learners.random_bags.risk import BagMoments
from tacit.bags.learners.training import BatchTraining
from tacit.bags.losses import SemilinearLoss
from tacit.bags.partition import RandomBags

__all__ = ["BagNetwork", "fit_bag_network"]

Floats = NDArray[np.float64]


class BagNetwork:
    """A trained network as a function of the design matrix."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module

    def __call__(self, X: sparse.csr_matrix) -> Floats:
        """Return f of each row."""
        with torch.no_grad():
            blocks = [self.module(_dense(X[a : a + 8192], like=self._like)) for a in range(0, X.shape[0], 8192)]
        return torch.cat(blocks).double().numpy()

    @property
    def _like(self) -> torch.Tensor:
        return next(iter(self.module.parameters()))


def fit_bag_network(
    X: sparse.csr_matrix,
    bags: RandomBags,
    objective: RandomBagObjective,
    moments: BagMoments,
    *,
    loss: SemilinearLoss,
    hidden: Sequence[int],
    l2: float,
    training: BatchTraining,
    seed: int | None,
) -> BagNetwork:
    """Train by Adam on batches of bags; a batch's objective is the one of its bags alone, unbiased where it is."""
    dtype = torch.float64 if training.double else torch.float32
    device = training.device or ("cuda" if torch.cuda.is_available() else "cpu")
    rng = np.random.default_rng(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(rng.integers(2**31)))
        module = _layers(X.shape[1], hidden, bags.targets).to(device=device, dtype=dtype)
    like = next(iter(module.parameters()))
    labels = objective.labels(bags, moments)
    optimizer = torch.optim.Adam(module.parameters(), lr=training.rate, weight_decay=l2)
    per_batch = len(bags) if training.batch_rows is None else max(2, training.batch_rows // bags.size)
    for _ in range(training.epochs):
        order = rng.permutation(len(bags))
        for start in range(0, len(order), per_batch):
            batch = order[start : start + per_batch]
            if len(batch) < 2 <= len(bags):  # a last bag alone has no U-statistic
                continue
            f = module(_dense(X[bags.rows[batch].ravel()], like=like))
            optimizer.zero_grad(set_to_none=True)
            _step(f, labels[batch], objective, moments, loss=loss, size=bags.size)
            optimizer.step()
    return BagNetwork(module.cpu().eval())


def _step(
    f: torch.Tensor,
    labels: Floats,
    objective: RandomBagObjective,
    moments: BagMoments,
    *,
    loss: SemilinearLoss,
    size: int,
) -> None:
    """Put the gradient of the batch's objective into the parameters."""
    bags = np.arange(len(f)).reshape(len(labels), size)
    at = f.detach().double().cpu().numpy()
    _, slope = objective.at_rows(at, labels, membership(bags, len(f)), loss=loss, moments=moments)
    f.backward(torch.from_numpy(slope).to(f))  # type: ignore[no-untyped-call]


def _layers(inputs: int, hidden: Sequence[int], targets: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [nn.Linear(inputs, width), nn.ReLU()]
        inputs = width
    return nn.Sequential(*layers, nn.Linear(inputs, targets))


def _dense(X: sparse.csr_matrix, *, like: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(X.toarray()).to(like)
