"""One step of training on images after the other, and the average of all networks on the way."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from tacit.labels.learners.images.network import ImageNetwork
from tacit.labels.learners.images.reading import compiled, laid_out
from tacit.labels.learners.images.targets import AgreedTargets, ClassOpinions
from tacit.labels.learners.images.views import strong_views, weak_views
from tacit.labels.learners.network.device import bfloat16

__all__ = ["ImageLearner", "LearningSchedule"]

_LARGEST_DECAY = 5e-3  # of a step at the rate 1: a training of a few steps would else shrink its filters to nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningSchedule:
    """What changes from step to step, by the share of the training that is done, so that its length is free.

    Parameters
    ----------
    rate
        Of Nesterov's SGD with momentum 0.9 at its height, from which it falls along half a cosine.
    forgetting
        Sum of rate times weight decay over all steps: filters forget their start by exp(-forgetting).
    memory
        The share of the training over which networks are averaged.
    unmixed
        The last share of the training, over which mixing fades.
    """

    rate: float
    forgetting: float
    memory: float
    unmixed: float

    def decay(self, steps: int) -> float:
        """Weight decay in a training of so many steps."""
        return min(_LARGEST_DECAY, 2 * self.forgetting / (self.rate * steps))

    def rate_at(self, share: float) -> float:
        """The rate of a step."""
        return self.rate * min(1.0, share / 0.02 + 0.05) * (1.01 + 0.98 * math.cos(math.pi * share)) / 2

    def mixing_at(self, share: float, drawn: float) -> float:
        """The larger share of two images that are mixed."""
        return 1 - min(drawn, 1 - drawn) * min(1.0, (1 - share) / self.unmixed if self.unmixed else 1.0)

    def following_at(self, share: float) -> float:
        """The weight of what the averaged network is sure of, which knows little at the beginning."""
        return min(1.0, max(0.0, 10 * share - 0.5))

    def keep_at(self, step: int, *, steps: int) -> float:
        """The weight of the average so far against the network's."""
        return min(1 - 1 / max(2.0, self.memory * steps), (step + 1) / (step + 20))


class ImageLearner:
    """A network in training, and ``average``, which teaches it.

    Parameters
    ----------
    size
        Targets per step; a fourth as many images of any class follow the average.
    trusted
        An image whose class is this sure follows it.
    anchor_weight
        Of neighbors against the average, in what is sure.
    """

    def __init__(
        self, images: Tensor, network: ImageNetwork, schedule: LearningSchedule, *, size: int, trusted: float,
        anchor_weight: float,
    ) -> None:  # fmt: skip
        self.images, self.network, self.schedule = images, network, schedule
        self.average = copy.deepcopy(network).requires_grad_(False)
        self._size, self._others = size, max(2, size // 4)
        self._trusted, self._anchor_weight = trusted, anchor_weight
        device = images.device
        self._call, self._look = compiled(network, device), compiled(self.average, device)
        self._strong, self._weak = compiled(strong_views, device), compiled(weak_views, device)
        decays = [one for one in network.parameters() if one.ndim > 1]
        others = [one for one in network.parameters() if one.ndim <= 1]
        groups = [{"params": decays}, {"params": others}]  # the others never decay
        self._optimizer = torch.optim.SGD(groups, lr=schedule.rate, momentum=0.9, nesterov=True)

    @property
    def state(self) -> dict[str, Any]:
        """What the next step depends on."""
        return {
            "network": self.network.state_dict(),
            "average": self.average.state_dict(),
            "optimizer": self._optimizer.state_dict(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self.network.load_state_dict(state["network"])
        self.average.load_state_dict(state["average"])
        self._optimizer.load_state_dict(state["optimizer"])

    def step(self, targets: AgreedTargets, opinions: ClassOpinions, step: int, *, steps: int, drawn: float) -> None:
        """Take one of so many steps, and let the average follow."""
        schedule, share = self.schedule, step / steps
        for group in self._optimizer.param_groups:
            group["lr"] = schedule.rate_at(share)
        self._optimizer.param_groups[0]["weight_decay"] = schedule.decay(steps)
        self.network.train()
        loss = self._loss(targets, opinions, schedule.mixing_at(share, drawn), following=schedule.following_at(share))
        self._optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        self._optimizer.step()
        self._follow(schedule.keep_at(step, steps=steps))

    def _loss(self, targets: AgreedTargets, opinions: ClassOpinions, mixing: float, *, following: float) -> Tensor:
        """The loss of mixed targets, and of any images that should be what their weak views are."""
        rows, classes = targets.draw(self._size)
        others = torch.randint(len(self.images), (self._others,), device=self.images.device)
        views = self._strong(self.images[torch.cat([rows, others])])
        mixed, wanted = self._mixed(views[: self._size], classes, mixing)
        told, certainty, weak_projections = self._taught(others, opinions)
        with bfloat16(self.images.device):
            _, logits, projections = self._call(laid_out(torch.cat([mixed, views[self._size :]])))
            predicted = self.network.prediction(projections[self._size :])
        supervised = -(logits[: self._size].float().log_softmax(dim=1) * wanted).sum(dim=1).mean()
        alike = functional.cosine_similarity(predicted.float(), weak_projections, dim=1).mean()
        followed = functional.cross_entropy(logits[self._size :].float(), told, reduction="none")
        loss: Tensor = supervised - alike + following * (followed * (certainty > self._trusted)).mean()
        return loss

    def _mixed(self, views: Tensor, classes: Tensor, mixing: float) -> tuple[Tensor, Tensor]:
        """Mix each view with another one."""
        wanted = functional.one_hot(classes, self.network.head.out_features).float()
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
