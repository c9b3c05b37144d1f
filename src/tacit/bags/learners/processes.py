"""The processes that train together under ``torchrun``: gradients are added up, so the result is that of one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType

import torch
from torch import distributed

__all__ = ["TrainingProcesses"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingProcesses:
    """The number of this process among those that train together, and the device it computes on."""

    rank: int
    world: int
    device: torch.device
    opened: bool = False

    @classmethod
    def join(cls, device: str | None) -> TrainingProcesses:
        """Join the group that ``torchrun`` describes, if it does."""
        wanted = device or ("cuda" if torch.cuda.is_available() else "cpu")
        if wanted == "cuda" and "LOCAL_RANK" in os.environ:
            wanted = f"cuda:{int(os.environ['LOCAL_RANK']) % torch.cuda.device_count()}"
        opened = False
        if int(os.environ.get("WORLD_SIZE", "1")) > 1 and not distributed.is_initialized():
            distributed.init_process_group("nccl" if wanted.startswith("cuda") else "gloo")
            opened = True
        together = distributed.is_available() and distributed.is_initialized()
        rank, world = (distributed.get_rank(), distributed.get_world_size()) if together else (0, 1)
        return cls(rank=rank, world=world, device=torch.device(wanted), opened=opened)

    def agree(self, number: int) -> int:
        """Return the first process's number in all of them."""
        if self.world == 1:
            return number
        shared = [number]
        distributed.broadcast_object_list(shared, src=0)
        return int(shared[0])

    def broadcast(self, module: torch.nn.Module) -> None:
        """Give every process the first one's parameters."""
        if self.world > 1:
            for parameter in module.parameters():
                distributed.broadcast(parameter.data, src=0)

    def add_up(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        """Replace each gradient by its sum over the processes, by one message."""
        if self.world == 1:
            return
        for parameter in parameters:  # a process whose share of a small batch is empty has no gradients
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        flat = torch.cat([parameter.grad.reshape(-1) for parameter in parameters if parameter.grad is not None])
        distributed.all_reduce(flat)
        start = 0
        for parameter in parameters:
            assert parameter.grad is not None
            parameter.grad.copy_(flat[start : start + parameter.numel()].view_as(parameter))
            start += parameter.numel()

    def __enter__(self) -> TrainingProcesses:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.opened:
            distributed.destroy_process_group()
