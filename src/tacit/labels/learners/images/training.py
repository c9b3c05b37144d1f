"""Train on what neighbors and network agree on, ask again as the network learns, and start over with the answers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from tacit.labels.learners.images.evidence import LabelEvidence
from tacit.labels.learners.images.learner import ImageLearner
from tacit.labels.learners.images.network import ImageNetwork
from tacit.labels.learners.images.reading import read_images
from tacit.labels.learners.images.targets import AgreedTargets, ClassOpinions, choose_targets
from tacit.labels.learners.images.votes import nearest_rows, vote

__all__ = ["VotedTraining"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VotedTraining:
    """SGD on strong views, mixed in pairs, of rows that neighbors and an averaged network agree on.

    Any row is also trained on what neighbors, its released label and the averaged network together are sure of, and on
    looking like its own weak view. Neighbors vote with released labels only, in the averaged network's features:
    without that anchor, a network that learns from itself collapses. A network repeats what it was taught about the
    rows that it was trained on, so it is trained more than once, each time from the representation, and each begins
    with the targets on which the one before agrees.

    Parameters
    ----------
    generations
        How often the network is trained, from the representation.
    epochs
        Passes over the images in a generation; each draws two strong views of a target, and one strong and one weak
        view of any image.
    batch_size
        Targets per step.
    renewals
        How often neighbors and targets are renewed in a generation.
    first_share, later_share
        The share of the first and of a later generation for which the targets hold that it begins with.
    neighbors
        How many vote, at most a tenth of the rows.
    rate, decay
        Of Nesterov's SGD with momentum 0.9, along half a cosine.
    keep
        Of the averaged network, in a step.
    sure, vote_weight
        As in :func:`choose_targets`.
    trusted
        Any row whose class is this sure is trained on it.

    References
    ----------
    Feng, Tzimiropoulos and Patras (2022), SSR, Algorithm 1, for relabeling, selection, mixing and consistency; Sohn et
    al. (2020), FixMatch, for weak and strong views. Votes and likelihoods by the known transition, and generations that
    begin with agreed targets, are ours.
    """

    generations: int = 2
    epochs: float = 115.0
    batch_size: int = 512
    renewals: int = 30
    first_share: float = 0.04
    later_share: float = 0.25
    neighbors: int = 300
    rate: float = 0.06
    decay: float = 5e-4
    keep: float = 0.999
    sure: float = 0.6
    vote_weight: float = 0.3
    trusted: float = 0.95

    def train(
        self,
        images: Tensor,
        network: ImageNetwork,
        released: LabelEvidence,
        features: Tensor,
        *,
        rng: np.random.Generator,
        progress: Callable[[int, int], None],
        watch: Callable[[AgreedTargets, ClassOpinions], None] = lambda *_: None,
    ) -> ImageNetwork:
        """Train on images of bytes; return the last generation's network averaged over its last steps.

        Parameters
        ----------
        features
            The images in the representation, for the first votes.
        watch
            Called with the targets at each renewal, and the opinions that they were chosen by.
        """
        beginning = copy.deepcopy(network.state_dict())
        learner = ImageLearner(
            images, network, size=min(self.batch_size, len(images)), keep=self.keep, trusted=self.trusted,
            anchor_weight=self.vote_weight,
        )  # fmt: skip
        opinions = self._ask(features, None, released)
        steps = max(1, round(self.epochs * len(images) / self.batch_size))
        for generation in range(self.generations):
            learner.begin(beginning, rate=self.rate, decay=self.decay, steps=steps)
            done, held = generation * steps, steps * (self.later_share if generation else self.first_share)
            for step in range(steps):
                if step % max(1, steps // self.renewals) == 0:
                    if step > held:
                        opinions = self._ask(*read_images(learner.average, images), released)
                    targets = choose_targets(opinions, sure=self.sure, vote_weight=self.vote_weight)
                    watch(targets, opinions)
                learner.step(targets, opinions, step, mixing=float(rng.beta(4, 4)))
                progress(done + step + 1, self.generations * steps)
            opinions = self._ask(*read_images(learner.average, images), released)
        return learner.average

    def _ask(self, features: Tensor, predictions: Tensor | None, released: LabelEvidence) -> ClassOpinions:
        """Let the neighbors in these features vote."""
        near = nearest_rows(features, count=max(1, min(self.neighbors, len(features) // 10)))
        votes = vote(near, released.outputs, released.transition)
        return ClassOpinions(votes=votes, predictions=predictions, likelihood=released.likelihood)
