"""One network trained toward its margin, in the coordinates of the span of its points."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tacit.models.network import TwoLayerReLU
from tacit.models.points import Floats
from tacit.privacy.extras import load_extra

if TYPE_CHECKING:
    from tacit.models.margin.gradient import MarginLoss

__all__ = ["initial_network", "train"]


def initial_network(*, width: int, dimension: int, scale: float, rng: np.random.Generator) -> TwoLayerReLU:
    """Draw a balanced network of norm about ``scale``: Gaussian (w_j, b_j) and v_j = +-|(w_j, b_j)|."""
    neurons = rng.standard_normal((width, dimension + 1))
    neurons *= scale / np.sqrt(2 * width * (dimension + 1))
    outputs = np.linalg.norm(neurons, axis=1) * rng.choice([-1.0, 1.0], size=width)
    return TwoLayerReLU(weights=neurons[:, :-1], biases=neurons[:, -1], outputs=outputs)


def train(
    rows: Floats,
    signs: Floats,
    start: TwoLayerReLU,
    *,
    steps: int,
    loss: MarginLoss | None = None,
    report: Callable[[int], None] | None = None,
) -> tuple[TwoLayerReLU, int | None]:
    """Train a network on its points, not rescaled, and return the first step at which Theorem 2.1 applied, if any did.

    What of its neurons lies outside the span of the points (x_i, 1) stays as it is.
    """
    torch = load_extra("torch")
    from tacit.models.margin.gradient import ExponentialMarginLoss, ascend

    points = np.column_stack([rows, np.ones(len(rows))])
    basis = np.linalg.qr(points.T)[0]
    neurons = np.column_stack([start.weights, start.biases]) @ basis
    begin = [torch.from_numpy(np.array(part)[None]) for part in (points @ basis, signs, neurons, start.outputs)]
    found = ascend(*begin, loss=loss or ExponentialMarginLoss(), steps=steps, report=report)
    moved = (found.neurons[0].numpy() - neurons) @ basis.T
    network = TwoLayerReLU(
        weights=start.weights + moved[:, :-1],
        biases=start.biases + moved[:, -1],
        outputs=found.outputs[0].numpy(),
    )
    below = int(found.below_at[0])
    return network, below if below >= 0 else None
