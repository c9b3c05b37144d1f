"""The votes of an image's neighbors, by their released labels, on its class."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

__all__ = ["choose_neighbors", "nearest_rows", "vote"]

_CHUNK = 2048
_FLOOR = 1e-3  # no vote of some hundred neighbors is a proof


@torch.no_grad()
def nearest_rows(features: Tensor, *, count: int) -> Tensor:
    """Return for each row the others at the least angle about the mean, the nearest first."""
    kind = torch.bfloat16 if features.is_cuda else torch.float32
    rows = functional.normalize(features.float() - features.float().mean(dim=0), dim=1).to(kind)
    found = []
    for start in range(0, len(rows), _CHUNK):
        alike = rows[start : start + _CHUNK] @ rows.T
        own = torch.arange(len(alike), device=rows.device)
        alike[own, start + own] = -2.0
        found.append(alike.topk(min(count, len(rows) - 1), dim=1).indices)
    return torch.cat(found)


@torch.no_grad()
def vote(neighbors: Tensor, outputs: Tensor, transition: Tensor, *, rounds: int = 60) -> Tensor:
    """Return the mix of classes around each row that makes its neighbors' released labels likeliest.

    For counts n_z of released labels and mix w the likelihood is prod_z (w T)_z^n_z; expectation maximization
    multiplies w_y by sum_z n_z T_yz / (w T)_z.

    Parameters
    ----------
    neighbors
        Row numbers, a line per row.
    outputs
        Each row's released label as a column of ``transition``; -1 for a row that has none.
    transition
        P(released | true), a line per true class.

    Examples
    --------
    >>> transition = torch.tensor([[0.8, 0.2], [0.2, 0.8]])
    >>> vote(torch.tensor([[1, 2, 3, 4, 5]]), torch.tensor([0, 0, 0, 0, 0, 1]), transition).argmax(dim=1).tolist()
    [0]
    """
    heard = functional.one_hot(outputs.clamp_min(0), transition.shape[1]).float() * (outputs >= 0)[:, None]
    counts = torch.zeros(len(neighbors), transition.shape[1], device=outputs.device)
    for some in torch.split(neighbors, 50, dim=1):
        counts += heard[some].sum(dim=1)
    shares = counts / counts.sum(dim=1, keepdim=True).clamp_min(1)
    mix = torch.full((len(neighbors), len(transition)), 1 / len(transition), device=outputs.device)
    for _ in range(rounds):
        mix = mix * ((shares / (mix @ transition).clamp_min(1e-9)) @ transition.T)
    mix = mix + _FLOOR
    return mix / mix.sum(dim=1, keepdim=True)


@torch.no_grad()
def choose_neighbors(features: Tensor, outputs: Tensor, transition: Tensor) -> int:
    """Return how many neighbors' votes make the rows' own released labels likeliest, which did not vote.

    Only released labels are read, so the choice costs no privacy. Counts are tried from 25 to a twentieth of the rows,
    each twice the one before. The likelihood of row i with label z_i is (w_i T)_(z_i).
    """
    most = max(1, len(features) // 20)
    counts = [count for count in (25 * 2**power for power in range(20)) if count < most] or [most]
    near = nearest_rows(features, count=counts[-1])
    known = torch.where(outputs >= 0)[0]

    def fit(count: int) -> float:
        mix = vote(near[:, :count], outputs, transition)
        return float((mix @ transition)[known, outputs[known]].log().mean())

    best: int = max(counts, key=fit)
    return best
