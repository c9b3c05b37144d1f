"""Past the tables: a representation without labels, neighbors' votes, and training on what they make of the labels.

Every label is randomized once. All else reads the images, which are public, and the released labels.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from papers.label_retraining.images import augment
from papers.label_retraining.images.given import Given
from papers.label_retraining.images.neighbors import nearest
from papers.label_retraining.images.network import ResNet
from papers.label_retraining.images.parts import RandomizedResponse, expect_from_neighbors, posterior_targets
from papers.label_retraining.images.training import Trainer, say

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Images seen in fine-tuning; neighbors; when the votes are taken anew; how far the teacher is believed.

    ``first_side``: to what side an encoder that is given enlarges images for the first votes, if not to its own.
    """

    images: int = 1_200_000
    neighbors: int = 300
    rounds: int = 3
    anew: tuple[float, ...] = (0.35, 0.65)
    trust: float = 0.7
    sure: float = 0.7
    rate: float = 0.15
    keep: float = 0.995
    first_side: int = 0


def measure(
    trainer: Trainer,
    truth: NDArray[np.int64],
    body: dict[str, Tensor] | None,
    *,
    epsilon: float,
    seed: int,
    recipe: Recipe,
) -> dict[str, Any]:
    """Return the test accuracy, and how right the labels were on the way.

    ``body`` has the weights of a representation that was learned here; without it the network has one that is given.
    """
    begun = time.perf_counter()
    mechanism = RandomizedResponse(epsilon=epsilon, classes=trainer.classes)
    given = mechanism.randomize(truth, rng=np.random.default_rng([seed, 3, round(1000 * epsilon)]))
    likelihood = mechanism.likelihood(given)
    trainer.reset(seed=seed + 300, body=body)
    work = Denoising(trainer, likelihood, recipe)
    result: dict[str, Any] = {"given": _share(given, truth), "votes": [work.first_vote()]}
    if body is None:
        result["head"] = work.fit_head()
    teacher = work.train()
    result |= {
        "accuracy": trainer.accuracy(teacher),
        "student": trainer.accuracy(),
        "votes": result["votes"] + work.heard,
        "trusted_rows": work.trusted,
        "seconds": round(time.perf_counter() - begun, 1),
    }
    say(f"epsilon {epsilon:g} seed {seed} recipe: {result}")
    return result


class Denoising:
    """Fine-tuning on labels that are weighed anew: votes of neighbors, the teacher's view, the released label."""

    def __init__(self, trainer: Trainer, likelihood: Array, recipe: Recipe) -> None:
        self.trainer, self.recipe, self.likelihood = trainer, recipe, likelihood
        self.rows = torch.arange(len(trainer.padded), device=trainer.device)
        self.log_likelihood = torch.from_numpy(np.log(likelihood)).float().to(trainer.device)
        self.prior = torch.zeros_like(self.log_likelihood)
        self.mean = self.prior.mean(dim=0)
        self.heard: list[dict[str, float]] = []
        self.trusted = 0.0

    def first_vote(self) -> dict[str, float]:
        """Vote in the representation as it comes; neighbors are the same for every epsilon and seed."""
        t = self.trainer
        if t.first_neighbors is None:
            network, side = t.network, t.settings.side
            if isinstance(network, Given):
                network.side = self.recipe.first_side or side
            t.first_neighbors = self.neighbors(network)
            if isinstance(network, Given):
                network.side = side
        told = self.count_votes(t.first_neighbors, rounds=self.recipe.rounds)
        say(f"  votes {told}")
        return told

    def fit_head(self, *, steps: int = 300) -> float:
        """Fit the head alone to the posteriors after the votes; return the test accuracy."""
        t = self.trainer
        if t.first_features is None:
            t.first_features = t.read(t.network, t.padded, self.rows, represent=True)
        x = t.first_features
        targets = (self.prior + self.log_likelihood).softmax(dim=1)
        optimizer = torch.optim.AdamW(t.network.head.parameters(), lr=0.01, weight_decay=0.01)
        for _ in range(steps):
            loss = -(targets * t.network.head(x).log_softmax(dim=1)).sum(dim=1).mean()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        right = t.accuracy()
        say(f"  head {right:.4f}")
        return right

    def vote(self, network: ResNet | Given, *, rounds: int) -> dict[str, float]:
        """Take the votes of the neighbors in this network's representation; return how right they are."""
        return self.count_votes(self.neighbors(network), rounds=rounds)

    def neighbors(self, network: ResNet | Given) -> NDArray[np.int64]:
        """Return each row's neighbors in this network's representation: at most a fifth of a class."""
        t = self.trainer
        count = max(1, min(self.recipe.neighbors, len(self.rows) // (5 * t.classes)))
        return nearest(t.read(network, t.padded, self.rows, represent=True), count=count)

    def count_votes(self, near: NDArray[np.int64], *, rounds: int) -> dict[str, float]:
        """Make the neighbors' votes the prior; return how right they are, and they times the released label."""
        prior = expect_from_neighbors(near, likelihood=self.likelihood, rounds=rounds)
        self.prior = torch.from_numpy(np.log(prior)).float().to(self.trainer.device)
        self.mean = self.prior.exp().mean(dim=0)
        truth = self.trainer.truth.cpu().numpy()
        posterior = posterior_targets(prior, self.likelihood)
        return {"votes": _share(prior.argmax(axis=1), truth), "posterior": _share(posterior.argmax(axis=1), truth)}

    def train(self) -> ResNet | Given:
        """Fine-tune; return the teacher: the running mean of the student's weights."""
        t, r = self.trainer, self.recipe
        teacher = t.copy_network().requires_grad_(requires_grad=False)
        steps = t.steps(r.images)
        optimizer, cycle = t.optimizer(steps=steps, rate=r.rate)
        anew = {round(share * steps) for share in r.anew}
        balance = torch.full((t.classes,), 1 / t.classes, device=t.device)
        kept = torch.zeros((), device=t.device)
        for step, places in enumerate(t.batches(self.rows, images=r.images)):
            if step in anew:
                self.heard.append(self.vote(teacher, rounds=1))  # a trained network's neighbors agree as they are
                say(f"  step {step}/{steps}: teacher {t.accuracy(teacher):.4f}, {self.heard[-1]}")
            x = augment.crop(t.padded, places)
            targets, balance = self.targets(teacher, x, places, balance, progress=step / steps)
            sure = (targets.max(dim=1).values >= r.sure).float()
            losses = -(targets * t.logits(augment.normalize(augment.strengthen(x))).log_softmax(dim=1)).sum(dim=1)
            optimizer.zero_grad(set_to_none=True)
            (losses * sure).mean().backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            cycle.step()
            follow(teacher, t.network, keep=min(r.keep, (step + 1) / (step + 10)))
            kept += sure.mean()
        self.trusted = float(kept) / steps
        return teacher

    @torch.no_grad()
    def targets(
        self, teacher: ResNet | Given, x: Tensor, rows: Tensor, balance: Tensor, *, progress: float
    ) -> tuple[Tensor, Tensor]:
        """Return votes^(1 - a) teacher^a likelihood, scaled; a rises from 0 to ``trust`` once the head has learned."""
        a = self.recipe.trust * min(1.0, max(0.0, (progress - 0.1) / 0.3))
        teacher.eval()
        with self.trainer.bfloat16():
            seen = teacher(augment.normalize(x)).float().log_softmax(dim=1)
        # no class may grow at the cost of others: the teacher's mean is held at that of the votes
        balance = 0.99 * balance + 0.01 * seen.exp().mean(dim=0)
        seen = seen + (self.mean / balance.clamp_min(1e-4)).log()
        logs = (1 - a) * self.prior[rows] + a * seen + self.log_likelihood[rows]
        return logs.softmax(dim=1), balance


@torch.no_grad()
def follow(teacher: ResNet | Given, student: ResNet | Given, *, keep: float) -> None:
    """Move the teacher's weights and batch statistics a step toward the student's."""
    ours = [value for value in teacher.state_dict().values() if value.is_floating_point()]
    theirs = [value for value in student.state_dict().values() if value.is_floating_point()]
    torch._foreach_lerp_(ours, theirs, 1 - keep)


def _share(labels: NDArray[np.int64], truth: NDArray[np.int64]) -> float:
    return round(float(np.mean(labels == truth)), 4)
