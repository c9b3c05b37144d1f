"""Where a training has come to, kept in a file, so that it goes on after an interruption."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from tacit.privacy.errors import InvalidInput
from tacit.privacy.files import write_atomically

__all__ = ["Stage", "TrainingCheckpoint", "identify"]

Stage = Literal["representation", "training"]


class TrainingCheckpoint:
    """The state of one stage of one training, with torch's random numbers.

    Parameters
    ----------
    path
        None: nothing is kept.
    identity
        Of images, release and settings; the file of another training is refused.
    seconds
        Between two states that are kept.
    """

    def __init__(self, path: str | Path | None, *, identity: str, seconds: float = 60.0) -> None:
        self._path, self._identity, self._seconds = None if path is None else Path(path), identity, seconds
        self._last = time.monotonic()
        self._found = self._read()

    def reached(self, stage: Stage) -> bool:
        """Tell whether the file is of this stage."""
        return self._found is not None and self._found["stage"] == stage

    def found(self, stage: Stage, *, device: torch.device) -> dict[str, Any] | None:
        """Return the state of a stage, and go on with its random numbers; None if the file is of another stage."""
        if self._found is None or not self.reached(stage):
            return None
        kept, self._found = self._found, None
        torch.set_rng_state(kept["random"])
        if device.type == "cuda" and kept["cuda"] is not None:
            torch.cuda.set_rng_state(kept["cuda"], device)
        state: dict[str, Any] = _moved(kept["state"], device)
        return state

    def due(self, *, last: bool = False) -> bool:
        """Tell whether it is time to keep a state."""
        return self._path is not None and (last or time.monotonic() - self._last >= self._seconds)

    def keep(self, stage: Stage, state: dict[str, Any], *, device: torch.device) -> None:
        """Replace the file by this state."""
        assert self._path is not None  # nothing was due otherwise
        cuda = torch.cuda.get_rng_state(device) if device.type == "cuda" else None
        kept = {
            "identity": self._identity, "stage": stage, "state": state, "random": torch.get_rng_state(), "cuda": cuda,
        }  # fmt: skip
        with write_atomically(self._path, force=True) as file:
            torch.save(kept, file)
        self._last = time.monotonic()

    def _read(self) -> dict[str, Any] | None:
        if self._path is None or not self._path.exists():
            return None
        try:
            kept: dict[str, Any] = torch.load(self._path, map_location="cpu", weights_only=True)
            identity = kept["identity"]
        except Exception as error:
            raise InvalidInput(f"must be a checkpoint or a new file, got {self._path}", field="checkpoint") from error
        if identity != self._identity:
            raise InvalidInput(
                f"must be of these images, labels and settings, or a new file, got that of another training, "
                f"{self._path}",
                field="checkpoint",
            )
        return kept


def identify(*parts: Tensor | str) -> str:
    """Return a digest of what a training starts from."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode() if isinstance(part, str) else part.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _moved(state: Any, device: torch.device) -> Any:  # noqa: ANN401
    if isinstance(state, Tensor):
        return state.to(device)
    if isinstance(state, dict):
        return {name: _moved(value, device) for name, value in state.items()}
    return [_moved(value, device) for value in state] if isinstance(state, list) else state
