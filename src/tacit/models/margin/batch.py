"""Many networks trained to their margins at once: seeds times dimensions, on a CPU or a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.models.margin.losses import ExponentialMarginLoss, MarginLoss
from tacit.models.network import TwoLayerReLU
from tacit.models.points import Floats
from tacit.privacy.errors import InvalidInput
from tacit.privacy.extras import load_extra

__all__ = ["TrainedBatch", "initial_network", "train"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainedBatch:
    """A network as the gradient steps left it, not rescaled.

    ``log_loss`` is log sum_i l(y_i Phi(x_i)); ``below_at`` the first step at which the loss was below the threshold of
    Theorem 2.1, None if it never was.
    """

    network: TwoLayerReLU
    log_loss: float
    below_at: int | None


def initial_network(*, width: int, dimension: int, scale: float, rng: np.random.Generator) -> TwoLayerReLU:
    """Draw a balanced network of norm about ``scale``: Gaussian (w_j, b_j) and v_j = +-|(w_j, b_j)|."""
    neurons = rng.standard_normal((width, dimension + 1))
    neurons *= scale / np.sqrt(2 * width * (dimension + 1))
    outputs = np.linalg.norm(neurons, axis=1) * rng.choice([-1.0, 1.0], size=width)
    return TwoLayerReLU(weights=neurons[:, :-1], biases=neurons[:, -1], outputs=outputs)


def train(
    problems: Sequence[tuple[Floats, Floats]],
    starts: Sequence[TwoLayerReLU],
    *,
    steps: int,
    loss: MarginLoss | None = None,
    device: str = "cpu",
    report: Callable[[int], None] | None = None,
) -> list[TrainedBatch]:
    """Train each network on its own points (rows, signs -1 or +1), all in one run; all starts have one width.

    The points of each problem are written in an orthonormal basis of their span, so problems of unlike dimension
    share one batch; fewer points than the most are padded with points that count nothing.
    """
    torch = load_extra("torch")
    from tacit.models.margin.gradient import ascend

    if len({start.width for start in starts}) != 1:
        raise InvalidInput("must all have one width: train networks of other widths separately", field="starts")
    count, most = len(problems), max(len(rows) for rows, _ in problems)
    rank = max(min(len(rows), rows.shape[1] + 1) for rows, _ in problems)
    points, signs = np.zeros((count, most, rank)), np.zeros((count, most))
    neurons = np.zeros((count, starts[0].width, rank))
    bases = []
    for k, ((rows, labels), start) in enumerate(zip(problems, starts, strict=True)):
        stacked = np.column_stack([rows, np.ones(len(rows))])
        basis = np.linalg.qr(stacked.T)[0]
        points[k, : len(rows), : basis.shape[1]] = stacked @ basis
        signs[k, : len(rows)] = labels
        neurons[k, :, : basis.shape[1]] = np.column_stack([start.weights, start.biases]) @ basis
        bases.append(basis)
    begin = [torch.from_numpy(a).to(device) for a in (points, signs, neurons, np.stack([s.outputs for s in starts]))]
    found = ascend(*begin, loss=loss or ExponentialMarginLoss(), steps=steps, report=report)
    moved = found.neurons.cpu().numpy() - neurons
    outputs, log_loss, below = (t.cpu().numpy() for t in (found.outputs, found.log_loss, found.below_at))
    return [
        TrainedBatch(
            network=_moved(start, moved[k, :, : bases[k].shape[1]] @ bases[k].T, outputs[k]),
            log_loss=float(log_loss[k]),
            below_at=int(below[k]) if below[k] >= 0 else None,
        )
        for k, start in enumerate(starts)
    ]


def _moved(start: TwoLayerReLU, by: Floats, outputs: Floats) -> TwoLayerReLU:
    return TwoLayerReLU(weights=start.weights + by[:, :-1], biases=start.biases + by[:, -1], outputs=outputs)
