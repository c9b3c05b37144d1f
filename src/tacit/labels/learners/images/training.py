"""Train on what neighbors and network agree on, and ask them again as the network learns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from tacit.labels.learners.images.checkpoint import TrainingCheckpoint
from tacit.labels.learners.images.learner import ImageLearner, LearningSchedule
from tacit.labels.learners.images.length import TrainingLength
from tacit.labels.learners.images.network import ImageNetwork
from tacit.labels.learners.images.reading import read_images
from tacit.labels.learners.images.targets import AgreedTargets, ClassOpinions, LabelEvidence, choose_targets
from tacit.labels.learners.images.votes import choose_neighbors, nearest_rows, vote

__all__ = ["VotedTraining"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VotedTraining:
    """SGD on strong views, mixed in pairs, of rows that neighbors and an averaged network agree on.

    Any row is also trained on what neighbors, its released label and the averaged network together are sure of, and on
    looking like its own weak view. Neighbors vote with released labels only, in the averaged network's features:
    without that anchor, a network that learns from itself collapses.

    Parameters
    ----------
    epochs
        How often as many targets are drawn as there are images.
    seconds
        Instead of ``epochs``: as many as fit this time, compiling included.
    batch_size
        Targets per step.
    renewals
        How often neighbors and targets are renewed.
    held
        The share of the training for which the first targets hold.
    neighbors
        How many vote, at most a tenth of the rows; None: :func:`choose_neighbors`, by the likelihood of released labels
        that did not vote.
    rate, forgetting, memory, unmixed
        As in :class:`LearningSchedule`.
    sure, vote_weight
        As in :func:`choose_targets`.
    trusted
        Any row whose class is this sure is trained on it.

    References
    ----------
    Feng, Tzimiropoulos and Patras (2022), SSR, Algorithm 1, for relabeling, selection, mixing and consistency; Sohn et
    al. (2020), FixMatch, for weak and strong views. Votes and likelihoods by the known transition are ours.
    """

    epochs: float = 400.0
    seconds: float | None = None
    batch_size: int = 1024
    renewals: int = 30
    held: float = 0.04
    neighbors: int | None = None
    rate: float = 0.3
    forgetting: float = 1.5
    memory: float = 0.03
    unmixed: float = 0.05
    sure: float = 0.6
    vote_weight: float = 0.3
    trusted: float = 0.95

    def train(
        self,
        images: Tensor,
        network: ImageNetwork,
        released: LabelEvidence,
        features: Tensor | None,
        *,
        progress: Callable[[int, int], None],
        watch: Callable[[AgreedTargets, ClassOpinions], None] = lambda *_: None,
        checkpoint: TrainingCheckpoint | None = None,
    ) -> ImageNetwork:
        """Train on images of bytes; return the network averaged over its last steps.

        Parameters
        ----------
        features
            The images in the representation, for the first votes; not read where a checkpoint goes on.
        watch
            Called with the targets at each renewal, and the opinions that they were chosen by.
        checkpoint
            Goes on where it stopped, and is kept at renewals.
        """
        device = images.device
        network.body.rescale_filters()
        schedule = LearningSchedule(
            rate=self.rate, forgetting=self.forgetting, memory=self.memory, unmixed=self.unmixed
        )
        learner = ImageLearner(
            images, network, schedule, size=min(self.batch_size, len(images)), trusted=self.trusted,
            anchor_weight=self.vote_weight,
        )  # fmt: skip
        state = None if checkpoint is None else checkpoint.found("training", device=device)
        if state is not None:
            learner.load(state["learner"])
            step, neighbors, renewed, spent = state["step"], state["neighbors"], state["renewed"], state["spent"]
            opinions = ClassOpinions(likelihood=released.likelihood, **state["opinions"])
        else:
            assert features is not None  # there are no opinions yet
            step, neighbors, renewed, spent = 0, self._neighbors(features, released), -1, 0.0
            opinions = _ask(features, None, released, neighbors)
        begun, mixing = step, torch.distributions.Beta(4.0, 4.0)
        length = TrainingLength(steps=self.steps(len(images)), seconds=self.seconds, device=device, spent=spent)
        while step < (steps := length.at(step)):
            if step == begun or self.renewals * step // steps > renewed:
                renewed = max(renewed, self.renewals * step // steps)
                if step > steps * self.held and step > begun:
                    opinions = _ask(*read_images(learner.average, images), released, neighbors)
                targets = choose_targets(opinions, sure=self.sure, vote_weight=self.vote_weight)
                watch(targets, opinions)
                if checkpoint is not None and step > begun and checkpoint.due():
                    state = {
                        "step": step, "neighbors": neighbors, "renewed": renewed, "spent": length.spent,
                        "learner": learner.state,
                        "opinions": {"votes": opinions.votes, "predictions": opinions.predictions},
                    }  # fmt: skip
                    checkpoint.keep("training", state, device=device)
            learner.step(targets, opinions, step, steps=steps, drawn=float(mixing.sample()))
            step += 1
            progress(step, steps)
        return learner.average

    def steps(self, images: int) -> int:
        """Return how many steps so many images take, where no time is given."""
        return max(1, round(self.epochs * images / self.batch_size))

    def _neighbors(self, features: Tensor, released: LabelEvidence) -> int:
        if self.neighbors is None:
            return choose_neighbors(features, released.outputs, released.transition)
        return max(1, min(self.neighbors, len(features) // 10))


def _ask(features: Tensor, predictions: Tensor | None, released: LabelEvidence, neighbors: int) -> ClassOpinions:
    """Let the neighbors in these features vote."""
    votes = vote(nearest_rows(features, count=neighbors), released.outputs, released.transition)
    return ClassOpinions(votes=votes, predictions=predictions, likelihood=released.likelihood)
