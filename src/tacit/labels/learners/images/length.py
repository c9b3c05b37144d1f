"""How long a training is: so many steps, or as many as fit a time."""

from __future__ import annotations

import math
import time

import torch

__all__ = ["TrainingLength"]

_WARMING = 3  # steps, the first of which compile
_MEASURED = 12


class TrainingLength:
    """The number of steps, which is estimated anew as a training goes on where its time is given.

    Parameters
    ----------
    steps
        Without ``seconds``; where they are given, a guess until a step has been timed.
    seconds
        Of the whole training, compiling included.
    spent
        Seconds of it that passed before an interruption.
    """

    def __init__(self, *, steps: int, seconds: float | None, device: torch.device, spent: float = 0.0) -> None:
        self._steps, self._seconds, self._device = max(1, steps), seconds, device
        self._began = time.monotonic() - spent
        self._next = math.inf if seconds is None else 0.0
        self._mark: tuple[int, float] | None = None

    @property
    def spent(self) -> float:
        """Seconds so far."""
        return time.monotonic() - self._began

    def at(self, done: int) -> int:
        """Return how many steps there will be, as it looks after ``done`` of them."""
        if done >= self._next:
            self._estimate(done)
        return self._steps

    def _estimate(self, done: int) -> None:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        assert self._seconds is not None  # else nothing is due
        left = self._seconds - self.spent
        if left <= 0:
            self._steps = max(1, done)
        elif self._mark is None:
            self._mark = (done, self.spent) if done else None
            self._steps = max(self._steps, done + _MEASURED + 1)
            self._next = done + (_MEASURED if done else _WARMING)
        else:
            begun, before = self._mark
            self._steps = done + max(1, int(left * (done - begun) / max(self.spent - before, 1e-9)))
            self._next = done + max(_WARMING, (self._steps - done) // 50)
