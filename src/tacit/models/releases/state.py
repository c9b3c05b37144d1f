"""From named parameters to the network that they are, or why they are not one."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.models.network import TwoLayerReLU
from tacit.privacy.errors import InvalidInput

__all__ = ["network_from_state"]


def network_from_state(state: Mapping[str, NDArray[Any]]) -> TwoLayerReLU:
    """Read parameters as Phi(x) = sum_j v_j max(0, w_j . x + b_j), or say why they are not such a network.

    Two layers ``NAME.weight`` and ``NAME.bias`` of shapes (width, features) and (width,), then (1, width). An output
    bias makes the network not homogeneous unless it is 0. A state dict does not say its activation: ReLU is assumed.

    Examples
    --------
    >>> layers = {"0.weight": np.eye(2), "0.bias": np.ones(2), "2.weight": np.ones((1, 2)), "2.bias": np.array([0.3])}
    >>> network_from_state(layers)
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: the network is not homogeneous: it has an output bias 0.3; train it without one
    (bias=False in the last layer)
    """
    layers: dict[str, dict[str, NDArray[np.float64]]] = {}
    for name in sorted(state):  # some kinds of file do not keep the order
        prefix, _, last = name.rpartition(".")
        layers.setdefault(prefix, {})[last] = np.asarray(state[name], dtype=np.float64)
    parts = list(layers.values())
    for hidden, output in itertools.permutations(parts, 2) if len(parts) == 2 else ():
        if _fit(hidden, output):
            bias = float(output.get("bias", np.zeros(1))[0])
            if bias:
                raise InvalidInput(
                    f"the network is not homogeneous: it has an output bias {bias:g}; train it without one "
                    "(bias=False in the last layer)"
                )
            return TwoLayerReLU(weights=hidden["weight"], biases=hidden["bias"], outputs=output["weight"][0])
    shapes = [str(np.shape(value)) for value in state.values()]
    raise InvalidInput(
        "the network is not a homogeneous two-layer ReLU network (hidden weights, hidden biases, one output without "
        f"bias): it has parameters of shapes {', '.join(shapes[:6])}{', ...' if len(shapes) > 6 else ''}; "
        "of another network its losses on rows can be attacked"
    )


def _fit(hidden: Mapping[str, NDArray[np.float64]], output: Mapping[str, NDArray[np.float64]]) -> bool:
    """Say whether these are a hidden layer with biases and a layer of one output on top of it."""
    if set(hidden) != {"weight", "bias"} or not {"weight"} <= set(output) <= {"weight", "bias"}:
        return False
    if hidden["weight"].ndim != 2 or output["weight"].shape != (1, len(hidden["weight"])):
        return False
    return hidden["bias"].shape == (len(hidden["weight"]),) and output.get("bias", np.zeros(1)).shape == (1,)
