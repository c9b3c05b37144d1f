"""Tables 1, 3 and 8: two stages of randomized labels, then retraining on the model's own predictions."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.published.labels_images.parts import (
    Confidence,
    Consensus,
    CrossEntropy,
    ForwardCorrected,
    Full,
    PriorRandomizedResponse,
    RandomizedResponse,
)
from benchmarks.published.labels_images.training import Trainer, say
from numpy.typing import NDArray

Codes = NDArray[np.int64]
Array = NDArray[np.float64]

CHOICES = {"full": Full(), "consensus": Consensus(), "confidence": Confidence(fraction=0.5)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """``corrected``: train on what the released labels say of the true ones, instead of on them as they are."""

    name: str
    corrected: bool
    stages: int = 2

    def loss(self) -> Any:
        """Return the loss of the trainings on released labels."""
        return ForwardCorrected() if self.corrected else CrossEntropy()

    def targets(self, given: Codes, likelihood: Array) -> Array:
        """Return the weights of each row's classes that go with the loss."""
        return likelihood if self.corrected else np.eye(likelihood.shape[1])[given]


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol(name="published", corrected=False),
        Protocol(name="one_stage", corrected=False, stages=1),
        Protocol(name="corrected", corrected=True),
        Protocol(name="corrected_one_stage", corrected=True, stages=1),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """Labels as released, how likely each is for every true label, and when it was drawn."""

    given: Codes
    likelihood: Array
    stage: Codes


def training_rows(rows: int, *, seed: int) -> Codes:
    """Return nine rows of ten: the rest is the paper's validation set, which nothing here looks at."""
    return np.sort(np.random.default_rng([seed, 1]).permutation(rows)[: rows * 9 // 10])


def release(trainer: Trainer, rows: Codes, truth: Codes, *, epsilon: float, protocol: Protocol, seed: int) -> Released:
    """Randomize each label once: a first half alike, the second by the prior that the first half taught (LP-2ST).

    The labels are read by tacit's mechanisms alone.
    """
    rng = np.random.default_rng([seed, 2, round(1000 * epsilon)])
    stage = rng.permutation(np.arange(len(rows)) % protocol.stages)
    mechanism = RandomizedResponse(epsilon=epsilon, classes=trainer.classes)
    given, likelihood = np.full(len(rows), -1), np.zeros((len(rows), trainer.classes))
    now = stage == 0
    given[now] = mechanism.randomize(truth[now], rng=rng)
    likelihood[now] = mechanism.likelihood(given[now])
    for number in range(1, protocol.stages):
        seen, now = stage < number, stage == number
        targets = protocol.targets(given[seen], likelihood[seen])
        trainer.fit(rows[seen], targets, loss=protocol.loss(), seed=seed)
        prior = trainer.probabilities(rows[now])
        if not protocol.corrected:
            prior = undo_noise(prior, mechanism.transition())
        later = PriorRandomizedResponse(epsilon=epsilon, prior=prior)
        given[now] = later.randomize(truth[now], rng=rng)
        likelihood[now] = later.likelihood(given[now])
    return Released(given=given, likelihood=likelihood, stage=stage)


def undo_noise(noisy: Array, transition: Array) -> Array:
    """Return P(true label) where a model gives P(released label): by the inverse of T, no temperature to be tuned."""
    true = np.maximum(noisy @ np.linalg.inv(transition), 0.0)
    return np.asarray(true / true.sum(axis=1, keepdims=True))


def measure(trainer: Trainer, truth: Codes, *, epsilon: float, protocol: str, seed: int) -> dict[str, Any]:
    """Return the test accuracy of the baseline and of each way to retrain, and what the tables say of the labels."""
    how = PROTOCOLS[protocol]
    begun = time.perf_counter()
    rows = training_rows(len(truth), seed=seed)
    true = truth[rows]
    released = release(trainer, rows, true, epsilon=epsilon, protocol=how, seed=seed)
    trainer.fit(rows, how.targets(released.given, released.likelihood), loss=how.loss(), seed=seed + 100)
    result: dict[str, Any] = {"baseline": trainer.accuracy()}
    probabilities = trainer.probabilities(rows)
    predicted = probabilities.argmax(axis=1)
    result |= {"given": _share(released.given == true), "predicted": _share(predicted == true)}
    if how.stages > 1:
        result["given_by_stage"] = [_share((released.given == true)[released.stage == s]) for s in range(how.stages)]
    say(f"epsilon {epsilon:g} seed {seed} {protocol}: baseline {result['baseline']:.4f}, given {result['given']:.4f}")
    for name in CHOICES if epsilon <= 1 else ("full", "consensus"):
        chosen = CHOICES[name].choose(probabilities, given=released.given)
        # a network of its own, from random weights, on predicted labels
        hard = np.eye(trainer.classes)[predicted[chosen]]
        trainer.fit(rows[chosen], hard, loss=CrossEntropy(), seed=seed + 200)
        result |= {
            name: trainer.accuracy(),
            f"{name}_rows": len(chosen) / len(rows),
            f"{name}_right": _share(predicted[chosen] == true[chosen]),
        }
        say(f"  {name} {result[name]:.4f} on {result[f'{name}_rows']:.3f} of the rows")
    return result | {
        "seconds": round(time.perf_counter() - begun, 1),
        "images_per_second": round(trainer.images_per_second),
    }


def _share(right: NDArray[np.bool_]) -> float:
    return float(np.mean(right))
