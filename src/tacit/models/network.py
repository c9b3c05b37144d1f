"""The two-layer ReLU network whose weights leak its training data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput

__all__ = ["TwoLayerReLU"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TwoLayerReLU:
    """Phi(x) = sum_j v_j max(0, w_j . x + b_j): hidden biases, no output bias, so homogeneous of degree 2.

    ``weights`` is w, of shape (width, dimension); ``biases`` is b and ``outputs`` v, of shape (width,).

    References
    ----------
    Paper 004, Section 2: the class of networks of its Theorems 3.1 to 4.5.
    """

    weights: NDArray[np.float64]
    biases: NDArray[np.float64]
    outputs: NDArray[np.float64]

    def __post_init__(self) -> None:
        for name in ("weights", "biases", "outputs"):
            value = np.array(getattr(self, name), dtype=np.float64)
            value.setflags(write=False)
            object.__setattr__(self, name, value)
        if self.weights.ndim != 2 or self.weights.size == 0:
            raise InvalidInput(
                f"must have one row per neuron and one column per feature, got {self.weights.shape}", field="weights"
            )
        for name in ("biases", "outputs"):
            if getattr(self, name).shape != (self.width,):
                raise InvalidInput(f"{name} must have one number for each of {self.width} neurons")
        if not all(np.isfinite(part).all() for part in (self.weights, self.biases, self.outputs)):
            raise InvalidInput("the network has weights that are not finite")

    @property
    def width(self) -> int:
        """The number of hidden neurons."""
        return int(self.weights.shape[0])

    @property
    def dimension(self) -> int:
        """The number of features."""
        return int(self.weights.shape[1])

    @property
    def squared_norm(self) -> float:
        """The sum of the squares of all parameters, which the margin problem makes small."""
        return float(sum(np.square(part).sum() for part in (self.weights, self.biases, self.outputs)))

    @property
    def state(self) -> dict[str, NDArray[np.float64]]:
        """The parameters under the names that a ``torch.nn.Sequential`` of its layers gives them."""
        return {"0.weight": self.weights, "0.bias": self.biases, "2.weight": self.outputs[None, :]}

    def __call__(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return Phi of each row."""
        return np.asarray(np.maximum(self.preactivations(X), 0) @ self.outputs)

    def preactivations(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return w_j . x_i + b_j, one row per point and one column per neuron."""
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.dimension:
            raise InvalidInput(f"X must have {self.dimension} columns, as the network has, got shape {rows.shape}")
        return np.asarray(rows @ self.weights.T + self.biases)

    def scaled(self, factor: float) -> TwoLayerReLU:
        """Return the network whose outputs are ``factor`` > 0 times these: every parameter times its square root."""
        if not factor > 0:
            raise InvalidInput(f"must be > 0, got {factor}", field="factor")
        root = np.sqrt(factor)
        return TwoLayerReLU(weights=root * self.weights, biases=root * self.biases, outputs=root * self.outputs)
