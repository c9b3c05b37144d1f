"""A torch module, its rows and the steps to take, checked so that nothing but the draw is left."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from tacit.models.training.noisy_steps import NoisyTraining, RowLoss, make_private, row_losses
from tacit.privacy.errors import InvalidInput
from tacit.privacy.loss import SampledGaussianLoss

__all__ = ["MakeOptimizer", "ModuleTraining"]

MakeOptimizer = Callable[[Any], torch.optim.Optimizer]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModuleTraining:
    """Noisy steps on a copy of a module."""

    module: torch.nn.Module
    steps: NoisyTraining
    X: torch.Tensor
    y: torch.Tensor

    @classmethod
    def prepare(
        cls,
        module: torch.nn.Module,
        X: NDArray[Any],
        y: NDArray[Any],
        *,
        run: SampledGaussianLoss,
        clip: float,
        batch_size: int,
        learning_rate: float,
        make_optimizer: MakeOptimizer | None = None,
        loss: RowLoss | None = None,
    ) -> Self:
        """Copy the module and the rows; raise if training could not begin, or would mix rows."""
        private = make_private(module)
        kind = next(private.parameters())
        prepared = cls(
            module=private,
            steps=NoisyTraining(
                run=run,
                clip=clip,
                batch_size=batch_size,
                make_optimizer=make_optimizer or (lambda p: torch.optim.SGD(p, lr=learning_rate, momentum=0.9)),
                loss=loss or row_losses,
            ),
            X=torch.tensor(X, dtype=kind.dtype, device=kind.device),  # copies: Arrow's arrays are read-only
            y=torch.tensor(y, device=kind.device),
        )
        prepared._check_start()
        prepared._check_rows_alone()
        return prepared

    def fit(self, *, rng: np.random.Generator, progress: Callable[[int, int], None] | None) -> torch.nn.Module:
        """Take all steps and return the module, ready to predict."""
        self.steps.fit(self.module, self.X, self.y, rng=rng, progress=progress)
        return self.module.eval()

    def _check_start(self) -> None:
        """Raise if training could not begin."""
        module, X, y = self.module, self.X, self.y
        try:
            self.steps.make_optimizer(module.parameters())
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"make_optimizer must take parameters, got: {error}") from None
        try:
            with torch.no_grad():
                one = module(X[:1])
                shape = tuple(
                    self.steps.loss(one.expand(len(y), *one.shape[1:]), y).shape
                )  # all labels, one row: cheap
        except (RuntimeError, IndexError, ValueError) as error:
            first = str(error).strip().splitlines()[0]
            raise InvalidInput(
                f"must take rows of shape {tuple(X.shape[1:])} and these labels: {first}", field="module"
            ) from None
        if shape != (len(y),):
            raise InvalidInput(f"loss must return one number per row, got shape {shape} for {len(y)} rows")
        self.steps.loss(module(X[:1]), y[:1]).sum().backward()  # type: ignore[no-untyped-call]
        unused = [name for name, p in module.named_parameters() if p.requires_grad and p.grad is None]
        module.zero_grad()
        if unused:
            raise InvalidInput(
                f"must use every parameter it trains, {unused[0]!r} has no part in the outputs; freeze it",
                field="module",
            )

    def _check_rows_alone(self) -> None:
        """Raise if another second row changes the first one's loss, or what the module keeps: no noise covers it."""
        X, y = self.X, self.y
        seen = []
        for second in (X[1:2], X[1:2] + 1):
            tried = copy.deepcopy(self.module)
            with torch.no_grad(), torch.random.fork_rng():
                torch.manual_seed(0)  # the same dropout
                first = self.steps.loss(tried(torch.cat([X[:1], second])), y[:2])[0]
            seen.append({"": first, **dict(tried.named_buffers())})
        for name, value in seen[0].items():
            if torch.allclose(value.double(), seen[1][name].double(), rtol=1e-4, atol=1e-6, equal_nan=True):
                continue
            if name:
                raise InvalidInput(
                    f"must keep nothing of the rows it sees, its buffer {name!r} does; freeze it", field="module"
                )
            raise InvalidInput("module and loss must treat every row by itself, got a loss that another row changes")
