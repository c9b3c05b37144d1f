"""Train on what neighbors and network agree on, and ask the neighbors again as the network learns."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from tacit.labels.learners.images.device import compiled, laid_out
from tacit.labels.learners.images.network import ImageNetwork
from tacit.labels.learners.images.targets import AgreedTargets, choose_targets
from tacit.labels.learners.images.views import plain_views, strong_views, weak_views
from tacit.labels.learners.images.votes import nearest_rows, vote
from tacit.labels.learners.network.device import bfloat16

__all__ = ["LabelEvidence", "VotedTraining", "read_images"]

_READ_IMAGES = 2500
_TRUSTED = 0.95  # a weak view's class is a target where the averaged network is this sure


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelEvidence:
    """Each image's released label, -1 where there is none, and P(released | true)."""

    outputs: Tensor
    transition: Tensor

    def to(self, device: torch.device) -> LabelEvidence:
        """Return the same on a device."""
        return LabelEvidence(outputs=self.outputs.to(device), transition=self.transition.to(device))

    @property
    def likelihood(self) -> Tensor:
        """P(own released label | class), a line per image; 1 where nothing was released."""
        known = (self.outputs >= 0)[:, None]
        return torch.where(known, self.transition[:, self.outputs.clamp_min(0)].T, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class VotedTraining:
    """SGD on strong views, mixed in pairs, of rows that neighbors and an averaged network agree on.

    Rows that they do not agree on are trained to look like their own weak views. Neighbors vote with released labels
    only, in the averaged network's features: without that anchor, a network that learns from itself collapses.

    Parameters
    ----------
    epochs
        Passes over the images; each draws two strong views of a target, and one strong and one weak view of any image.
    batch_size
        Targets per step.
    renewals
        How often neighbors and targets are renewed; the first votes, by the representation, hold for a twelfth of the
        time.
    neighbors
        How many vote, at most a tenth of the rows.
    rate, decay
        Of Nesterov's SGD with momentum 0.9, along half a cosine.
    sure, vote_weight
        As in :func:`choose_targets`.

    References
    ----------
    Feng, Tzimiropoulos and Patras (2022), SSR, Algorithm 1, for relabeling, selection and mixing; Sohn et al. (2020),
    FixMatch, for weak and strong views. Votes by the known transition are ours.
    """

    epochs: float = 200.0
    batch_size: int = 512
    renewals: int = 40
    neighbors: int = 300
    rate: float = 0.06
    decay: float = 5e-4
    sure: float = 0.75
    vote_weight: float = 0.3

    def train(
        self,
        images: Tensor,
        network: ImageNetwork,
        released: LabelEvidence,
        features: Tensor,
        *,
        rng: np.random.Generator,
        progress: Callable[[int, int], None],
    ) -> ImageNetwork:
        """Train on images of bytes; return the network averaged over the last steps.

        Parameters
        ----------
        features
            The images in the representation, for the first votes.
        """
        average = copy.deepcopy(network).requires_grad_(False)
        learner = _Learner(self, images, network, average, steps=self._steps(len(images)))
        first = vote(nearest_rows(features, count=self._count(len(images))), released.outputs, released.transition)
        every = max(1, learner.steps // self.renewals)
        for step in range(learner.steps):
            if step % every == 0:
                targets = self._targets(images, average, released, first, share=step / learner.steps)
            mixing = float(rng.beta(4, 4))
            learner.step(targets, step, mixing=max(mixing, 1 - mixing))
            progress(step + 1, learner.steps)
        return average

    def _steps(self, rows: int) -> int:
        return max(1, round(self.epochs * rows / self.batch_size))

    def _count(self, rows: int) -> int:
        return max(1, min(self.neighbors, rows // 10))

    def _targets(
        self, images: Tensor, average: ImageNetwork, released: LabelEvidence, first: Tensor, *, share: float
    ) -> AgreedTargets:
        votes, predictions = first, None
        if share > 1 / 12:
            features, predictions = read_images(average, images)
            near = nearest_rows(features, count=self._count(len(images)))
            votes = vote(near, released.outputs, released.transition)
        return choose_targets(votes, predictions, released.likelihood, sure=self.sure, vote_weight=self.vote_weight)


class _Learner:
    """One step after the other, with the average of all."""

    def __init__(
        self, how: VotedTraining, images: Tensor, network: ImageNetwork, average: ImageNetwork, *, steps: int
    ) -> None:
        self.how, self.images, self.network, self.average, self.steps = how, images, network, average, steps
        decays = [one for one in network.parameters() if one.ndim > 1]
        others = [one for one in network.parameters() if one.ndim <= 1]
        self.optimizer = torch.optim.SGD(
            [{"params": decays, "weight_decay": how.decay}, {"params": others, "weight_decay": 0.0}],
            lr=how.rate,
            momentum=0.9,
            nesterov=True,
        )
        device = images.device
        self.call = compiled(network, device)
        self.strong, self.weak = compiled(strong_views, device), compiled(weak_views, device)

    def step(self, targets: AgreedTargets, step: int, *, mixing: float) -> None:
        share = step / self.steps
        for group in self.optimizer.param_groups:
            group["lr"] = self.how.rate * min(1.0, share / 0.02 + 0.05) * (1.01 + 0.98 * math.cos(math.pi * share)) / 2
        self.network.train()
        loss = self._loss(targets, share, mixing)
        self.optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        self.optimizer.step()
        self._average(min(0.999, (step + 1) / (step + 20)))

    def _loss(self, targets: AgreedTargets, share: float, mixing: float) -> Tensor:
        """The loss of mixed targets, and of any images that should look like their weak views."""
        size = min(self.how.batch_size, len(self.images))
        mixed, classes = self._mixed(*targets.draw(size), mixing)
        others = self.images[torch.randint(len(self.images), (size,), device=self.images.device)]
        weak_logits, weak_projections = self._look_again(others)
        with bfloat16(self.images.device):
            _, logits, projections = self.call(laid_out(torch.cat([mixed, self.strong(others)])))
            predicted = self.network.prediction(projections[2 * size :])
        supervised = -(logits[: 2 * size].float().log_softmax(dim=1) * classes).sum(dim=1).mean()
        alike = functional.cosine_similarity(predicted.float(), weak_projections, dim=1).mean()
        certainty, told = weak_logits.softmax(dim=1).max(dim=1)
        followed = functional.cross_entropy(logits[2 * size :].float(), told, reduction="none")
        late = min(1.0, max(0.0, 10 * share - 1))
        loss: Tensor = supervised - 0.5 * alike + late * (followed * (certainty > _TRUSTED)).mean()
        return loss

    def _mixed(self, rows: Tensor, classes: Tensor, mixing: float) -> tuple[Tensor, Tensor]:
        """Two strong views of each target, mixed with others."""
        seen = self.strong(self.images[rows.repeat(2)])
        wanted = functional.one_hot(classes.repeat(2), self.network.head.out_features).float()
        order = torch.randperm(len(seen), device=seen.device)
        return mixing * seen + (1 - mixing) * seen[order], mixing * wanted + (1 - mixing) * wanted[order]

    @torch.no_grad()
    def _look_again(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Return the averaged network's logits and projections of weak views."""
        self.average.train()
        with bfloat16(images.device):
            _, logits, projections = self.average(laid_out(self.weak(images)))
        return logits.float(), projections.float()

    @torch.no_grad()
    def _average(self, keep: float) -> None:
        for mine, theirs in (
            (self.average.parameters(), self.network.parameters()),
            (self.average.buffers(), self.network.buffers()),
        ):
            pairs = [(one, two) for one, two in zip(mine, theirs, strict=True) if one.is_floating_point()]
            torch._foreach_lerp_([one for one, _ in pairs], [two for _, two in pairs], 1 - keep)


@torch.no_grad()
def read_images(network: ImageNetwork, images: Tensor) -> tuple[Tensor, Tensor]:
    """Return features and probabilities of images of bytes, averaged over both mirror images."""
    network.eval()
    features, probabilities = [], []
    for batch in torch.split(images, _READ_IMAGES):
        seen = plain_views(batch)
        with bfloat16(images.device):
            one, other = network(laid_out(seen)), network(laid_out(seen.flip(3)))
        features.append(one[0].float() + other[0].float())
        probabilities.append((one[1].float().softmax(dim=1) + other[1].float().softmax(dim=1)) / 2)
    return torch.cat(features), torch.cat(probabilities)
