"""One step of training on images after the other, and the average of all networks on the way."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from tacit.labels.learners.images.device import compiled, laid_out
from tacit.labels.learners.images.network import ImageNetwork
from tacit.labels.learners.images.targets import AgreedTargets, ClassOpinions
from tacit.labels.learners.images.views import strong_views, weak_views
from tacit.labels.learners.network.device import bfloat16

__all__ = ["ImageLearner"]


class ImageLearner:
    """A network in training, and ``average``, which teaches it.

    Parameters
    ----------
    size
        Targets, and any images, per step.
    keep
        Of the average, in a step.
    trusted
        Any image whose class is this sure is trained on it.
    anchor_weight
        Of neighbors against the average, in what is sure.
    """

    def __init__(
        self, images: Tensor, network: ImageNetwork, *, size: int, keep: float, trusted: float, anchor_weight: float
    ) -> None:
        self.images, self.network, self.size = images, network, size
        self.average = copy.deepcopy(network).requires_grad_(False)
        self._keep, self._trusted, self._anchor_weight = keep, trusted, anchor_weight
        device = images.device
        self._call, self._look = compiled(network, device), compiled(self.average, device)
        self._strong, self._weak = compiled(strong_views, device), compiled(weak_views, device)

    def begin(self, state: Mapping[str, Any], *, rate: float, decay: float, steps: int) -> None:
        """Start from this state, for so many steps."""
        self.network.load_state_dict(state)
        self.average.load_state_dict(state)
        self._rate, self._steps = rate, steps
        decays = [one for one in self.network.parameters() if one.ndim > 1]
        others = [one for one in self.network.parameters() if one.ndim <= 1]
        groups = [{"params": decays, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}]
        self._optimizer = torch.optim.SGD(groups, lr=rate, momentum=0.9, nesterov=True)

    def step(self, targets: AgreedTargets, opinions: ClassOpinions, step: int, *, mixing: float) -> None:
        """Take a step, and let the average follow."""
        share = step / self._steps
        for group in self._optimizer.param_groups:
            group["lr"] = self._rate * min(1.0, share / 0.02 + 0.05) * (1.01 + 0.98 * math.cos(math.pi * share)) / 2
        self.network.train()
        loss = self._loss(targets, opinions, max(mixing, 1 - mixing), late=min(1.0, max(0.0, 10 * share - 0.5)))
        self._optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        self._optimizer.step()
        self._follow(min(self._keep, (step + 1) / (step + 20)))

    def _loss(self, targets: AgreedTargets, opinions: ClassOpinions, mixing: float, *, late: float) -> Tensor:
        """The loss of mixed targets, and of any images that should be what their weak views are."""
        rows, classes = targets.draw(self.size)
        others = torch.randint(len(self.images), (self.size,), device=self.images.device)
        views = self._strong(self.images[torch.cat([rows, rows, others])])
        mixed, wanted = self._mixed(views[: 2 * self.size], classes, mixing)
        told, certainty, weak_projections = self._taught(others, opinions)
        with bfloat16(self.images.device):
            _, logits, projections = self._call(laid_out(torch.cat([mixed, views[2 * self.size :]])))
            predicted = self.network.prediction(projections[2 * self.size :])
        supervised = -(logits[: 2 * self.size].float().log_softmax(dim=1) * wanted).sum(dim=1).mean()
        alike = functional.cosine_similarity(predicted.float(), weak_projections, dim=1).mean()
        followed = functional.cross_entropy(logits[2 * self.size :].float(), told, reduction="none")
        loss: Tensor = supervised - alike + late * (followed * (certainty > self._trusted)).mean()
        return loss

    def _mixed(self, views: Tensor, classes: Tensor, mixing: float) -> tuple[Tensor, Tensor]:
        """Mix two views of each target with others."""
        wanted = functional.one_hot(classes.repeat(2), self.network.head.out_features).float()
        order = torch.randperm(len(views), device=views.device)
        return mixing * views + (1 - mixing) * views[order], mixing * wanted + (1 - mixing) * wanted[order]

    @torch.no_grad()
    def _taught(self, rows: Tensor, opinions: ClassOpinions) -> tuple[Tensor, Tensor, Tensor]:
        """Return the class of each row, how sure it is, and the average's projection of a weak view."""
        self.average.train()
        with bfloat16(self.images.device):
            _, logits, projections = self._look(laid_out(self._weak(self.images[rows])))
        seen = opinions.at(rows, predictions=logits.float().softmax(dim=1))
        certainty, told = seen.posterior(vote_weight=self._anchor_weight).max(dim=1)
        return told, certainty, projections.float()

    @torch.no_grad()
    def _follow(self, keep: float) -> None:
        for mine, theirs in (
            (self.average.parameters(), self.network.parameters()),
            (self.average.buffers(), self.network.buffers()),
        ):
            pairs = [(one, two) for one, two in zip(mine, theirs, strict=True) if one.is_floating_point()]
            torch._foreach_lerp_([one for one, _ in pairs], [two for _, two in pairs], 1 - keep)
