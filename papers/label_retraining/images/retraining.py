"""The tables: two stages of randomized labels, then retraining on the model's own predictions."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from papers.label_retraining.images.parts import (
    AllRows,
    ConfidentRows,
    ConsensusRows,
    ForwardCorrected,
    PriorRandomizedResponse,
    RandomizedResponse,
    SoftCrossEntropy,
    scale_temperature,
)
from papers.label_retraining.images.training import Trainer, say

Codes = NDArray[np.int64]
Array = NDArray[np.float64]

CHOICES = {"full": AllRows(), "consensus": ConsensusRows(), "confidence": ConfidentRows(fraction=0.5)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """How the tables' networks are trained.

    ``corrected``: stages whose training is on what the released labels say of the true ones, instead of on them as they
    are. ``validated``: stopped where the paper stops, by clean labels of rows that are not trained on.
    """

    name: str
    corrected: tuple[int, ...] = ()
    stages: int = 2
    validated: bool = True
    temperature: float = 1.0

    def loss(self, stage: int) -> Any:
        """Return the loss of a stage's training on released labels."""
        return ForwardCorrected() if stage in self.corrected else SoftCrossEntropy()

    def targets(self, stage: int, given: Codes, likelihood: Array) -> Array:
        """Return the weights of each row's classes that go with the loss."""
        return likelihood if stage in self.corrected else np.eye(likelihood.shape[1])[given]


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol(name="published"),
        Protocol(name="no_validation", validated=False),
        Protocol(name="flat", temperature=2.0),
        Protocol(name="one_stage", stages=1),
        Protocol(name="forward_first", corrected=(1,)),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """Labels as released, how likely each is for every true label, and when it was drawn."""

    given: Codes
    likelihood: Array
    stage: Codes


def split_rows(rows: int, *, seed: int) -> tuple[Codes, Codes]:
    """Return nine rows of ten to train on, and the paper's validation set, whose labels it uses as they are."""
    order = np.random.default_rng([seed, 1]).permutation(rows)
    return np.sort(order[: rows * 9 // 10]), np.sort(order[rows * 9 // 10 :])


def release(
    trainer: Trainer,
    rows: Codes,
    truth: Codes,
    *,
    epsilon: float,
    protocol: Protocol,
    seed: int,
    held_out: Codes | None,
) -> Released:
    """Randomize each label once: a first half alike, the second by the prior that the first half taught (LP-2ST).

    The labels of these rows are read by tacit's mechanisms alone.
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
        targets = protocol.targets(number, given[seen], likelihood[seen])
        trainer.fit(rows[seen], targets, loss=protocol.loss(number), seed=seed, held_out=held_out)
        prior = trainer.probabilities(rows[now])
        if number not in protocol.corrected:
            prior = undo_noise(prior, mechanism.transition())
        later = PriorRandomizedResponse(
            epsilon=epsilon, prior=scale_temperature(prior, temperature=protocol.temperature)
        )
        given[now] = later.randomize(truth[now], rng=rng)
        likelihood[now] = later.likelihood(given[now])
    return Released(given=given, likelihood=likelihood, stage=stage)


def undo_noise(noisy: Array, transition: Array) -> Array:
    """Return P(true label) where a model gives P(released label): by the inverse of T, no temperature to be tuned."""
    true = np.maximum(noisy @ np.linalg.inv(transition), 0.0)
    return np.asarray(true / true.sum(axis=1, keepdims=True))


def measure(
    trainer: Trainer, truth: Codes, *, epsilon: float, protocol: str, seed: int, with_confidence: bool
) -> dict[str, Any]:
    """Return the test accuracy of the baseline and of each way to retrain, and what the tables say of the labels."""
    how = PROTOCOLS[protocol]
    begun = time.perf_counter()
    rows, rest = split_rows(len(truth), seed=seed)
    true, held_out = truth[rows], rest if how.validated else None
    released = release(trainer, rows, true, epsilon=epsilon, protocol=how, seed=seed, held_out=held_out)
    result: dict[str, Any] = {}
    if how.stages > 1:
        result["given_by_stage"] = [_share((released.given == true)[released.stage == s]) for s in range(how.stages)]
    say(f"epsilon {epsilon:g} seed {seed} {protocol}: {result}")
    return result | train_twice(
        trainer, rows, true, released, how=how, seed=seed, held_out=held_out, begun=begun,
        names=tuple(CHOICES) if with_confidence else ("full", "consensus"),
    )  # fmt: skip


def measure_human(trainer: Trainer, truth: Codes, given: Codes, *, seed: int) -> dict[str, Any]:
    """Return the same for labels that people gave (Table 11): nothing is randomized, nothing is private."""
    begun = time.perf_counter()
    rows, held_out = split_rows(len(truth), seed=seed)
    labels = given[rows]
    released = Released(given=labels, likelihood=np.eye(trainer.classes)[labels], stage=np.zeros_like(labels))
    say(f"labels that people gave, seed {seed}")
    return train_twice(
        trainer, rows, truth[rows], released, how=PROTOCOLS["one_stage"], seed=seed, held_out=held_out, begun=begun,
        names=("full", "consensus"),
    )  # fmt: skip


def measure_clean(trainer: Trainer, truth: Codes, *, seed: int) -> dict[str, Any]:
    """Return the test accuracy after training on the true labels (Appendix G)."""
    begun = time.perf_counter()
    rows, held_out = split_rows(len(truth), seed=seed)
    trainer.fit(rows, np.eye(trainer.classes)[truth[rows]], loss=SoftCrossEntropy(), seed=seed + 100, held_out=held_out)
    say(f"true labels, seed {seed}: {(accuracy := trainer.accuracy()):.4f}")
    return {"baseline": accuracy} | _effort(trainer, begun)


def train_twice(
    trainer: Trainer,
    rows: Codes,
    true: Codes,
    released: Released,
    *,
    how: Protocol,
    seed: int,
    held_out: Codes | None,
    begun: float,
    names: tuple[str, ...],
) -> dict[str, Any]:
    """Train on the labels as given, then a fresh network on what the first predicts, for each choice of rows."""
    targets = how.targets(how.stages, released.given, released.likelihood)
    trainer.fit(rows, targets, loss=how.loss(how.stages), seed=seed + 100, held_out=held_out)
    probabilities = trainer.probabilities(rows)
    predicted = probabilities.argmax(axis=1)
    result: dict[str, Any] = {"baseline": trainer.accuracy()}
    result |= {"given": _share(released.given == true), "predicted": _share(predicted == true)}
    say(f"  baseline {result['baseline']:.4f}, given {result['given']:.4f}")
    for name in names:
        chosen = CHOICES[name].choose(probabilities, given=released.given)
        hard = np.eye(trainer.classes)[predicted[chosen]]
        trainer.fit(rows[chosen], hard, loss=SoftCrossEntropy(), seed=seed + 200, held_out=held_out)
        result |= {
            name: trainer.accuracy(),
            f"{name}_rows": len(chosen) / len(rows),
            f"{name}_right": _share(predicted[chosen] == true[chosen]),
        }
        say(f"  {name} {result[name]:.4f} on {result[f'{name}_rows']:.3f} of the rows")
    return result | _effort(trainer, begun)


def _effort(trainer: Trainer, begun: float) -> dict[str, Any]:
    seconds = round(time.perf_counter() - begun, 1)
    return {"seconds": seconds, "images_per_second": round(trainer.images_per_second)}


def _share(right: NDArray[np.bool_]) -> float:
    return float(np.mean(right))
