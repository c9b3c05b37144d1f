"""Where a network runs, how precisely, and how it is stored."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from tacit.privacy.extras import load_extra

if TYPE_CHECKING:
    import torch

__all__ = ["NetworkClassifier", "NetworkEstimator", "bfloat16", "repeatable", "seeded"]


class NetworkEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator with fitted networks, on the device that its parameter ``device`` names."""

    device: str

    def _device(self) -> torch.device:
        torch = load_extra("torch")
        if self.device == "auto":
            return torch.device("cuda" if torch.cuda.is_available() else "cpu")  # type: ignore[no-any-return]
        return torch.device(self.device)  # type: ignore[no-any-return]

    def __getstate__(self) -> Any:  # noqa: ANN401
        state = dict(super().__getstate__())
        for name, value in state.items():
            if name.endswith("_") and hasattr(value, "state_dict"):  # a pickle from a GPU must open where there is none
                state[name] = copy.deepcopy(value).to("cpu")
        return state


class NetworkClassifier(ClassifierMixin, NetworkEstimator, ABC):  # type: ignore[misc]
    """A network that knows the probability of each class."""

    classes_: NDArray[Any]

    @abstractmethod
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return P(class | x), one column for each of ``classes_``."""

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the likeliest class of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])


def bfloat16(device: torch.device) -> AbstractContextManager[None]:
    """Compute in half the digits on a GPU."""
    torch = load_extra("torch")
    made: AbstractContextManager[None] = torch.autocast(
        device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"
    )
    return made


def repeatable() -> AbstractContextManager[None]:
    """Let a GPU compute the same numbers every time."""
    flags: AbstractContextManager[None] = load_extra("torch").backends.cudnn.flags(
        enabled=True, benchmark=False, deterministic=True
    )
    return flags


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch's generators for the fit, and give them back as they were."""
    torch = load_extra("torch")
    with torch.random.fork_rng([device] if device.type == "cuda" else []), repeatable():
        torch.manual_seed(seed)
        yield
