"""Linear layers with ReLU between them, read from named parameters."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.models.network import TwoLayerReLU
from tacit.models.points import Floats
from tacit.privacy.errors import InvalidInput

__all__ = ["LinearLayers", "ModelState"]

ModelState = Mapping[str, NDArray[Any]]

_FEW = 4  # whose order is looked for


@dataclass(frozen=True, slots=True, eq=False)
class LinearLayers:
    """x -> W_k relu(... relu(W_1 x + b_1) ...) + b_k."""

    parts: tuple[tuple[Floats, Floats | None], ...]

    @classmethod
    def of_state(cls, state: ModelState) -> LinearLayers:
        """Read layers ``NAME.weight`` and ``NAME.bias``, which a state dict does not say are joined by ReLU.

        They are taken in the order of their names, numbers as numbers, or in the order that their shapes allow.
        """
        named: dict[str, dict[str, Floats]] = {}
        for name in sorted(state, key=_natural):
            prefix, _, last = name.rpartition(".")
            named.setdefault(prefix, {})[last] = np.asarray(state[name], dtype=np.float64)
        parts = list(named.values())
        orders = itertools.permutations(parts) if len(parts) <= _FEW else [tuple(parts)]
        for order in orders:
            if _fit(order):
                return cls(tuple((part["weight"], part.get("bias")) for part in order))
        shapes = [str(np.shape(value)) for value in state.values()]
        raise InvalidInput(
            "the model is not made of linear layers: it has parameters of shapes "
            f"{', '.join(shapes[:6])}{', ...' if len(shapes) > 6 else ''}; save it as .onnx, which can "
            "be run, or attack its losses on rows"
        )

    @property
    def state(self) -> dict[str, Floats]:
        """The parameters under the names that a ``torch.nn.Sequential`` of these layers gives them."""
        names = {}
        for place, (weight, bias) in enumerate(self.parts):
            names[f"{2 * place}.weight"] = np.ascontiguousarray(weight)
            if bias is not None:
                names[f"{2 * place}.bias"] = np.ascontiguousarray(bias)
        return names

    def __call__(self, X: Floats) -> Floats:
        """Return the outputs, one column each."""
        width = self.parts[0][0].shape[1]
        if X.ndim != 2 or X.shape[1] != width:
            raise InvalidInput(f"X must have {width} columns, as the model has, got shape {X.shape}")
        for place, (weight, bias) in enumerate(self.parts):
            X = (np.maximum(X, 0) if place else X) @ weight.T + (0.0 if bias is None else bias)
        return X

    @property
    def network(self) -> TwoLayerReLU:
        """The network Phi(x) = sum_j v_j max(0, w_j . x + b_j) that these layers are, or why they are none.

        An output bias makes a network not homogeneous unless it is 0.
        """
        shapes = [weight.shape for weight, _ in self.parts]
        if len(self.parts) != 2 or shapes[1][0] != 1 or self.parts[0][1] is None:
            raise InvalidInput(
                "the network is not a homogeneous two-layer ReLU network (hidden weights, hidden biases, one output "
                f"without bias): it has layers of shapes {', '.join(map(str, shapes))}; attack it with method loss"
            )
        (weights, biases), (outputs, bias) = self.parts
        if bias is not None and bias[0]:
            raise InvalidInput(
                f"the network is not homogeneous: it has an output bias {bias[0]:g}; train it without one (bias=False "
                "in the last layer), or attack it with method loss"
            )
        assert biases is not None
        return TwoLayerReLU(weights=weights, biases=biases, outputs=outputs[0])


def _natural(name: str) -> list[tuple[int, int, str]]:
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", name)]


def _fit(order: tuple[Mapping[str, Floats], ...]) -> bool:
    """Return whether these are linear layers, each on top of the one before."""
    for part in order:
        if not {"weight"} <= set(part) <= {"weight", "bias"} or part["weight"].ndim != 2:
            return False
        if "bias" in part and part["bias"].shape != (len(part["weight"]),):
            return False
    return bool(order) and all(len(a["weight"]) == b["weight"].shape[1] for a, b in itertools.pairwise(order))
