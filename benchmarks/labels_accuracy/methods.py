"""Ways of learning from randomized labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from benchmarks.labels_accuracy.problems import Problem
from benchmarks.labels_accuracy.robust_losses import GeneralizedCrossEntropy, SymmetricCrossEntropy
from tacit.labels.fitting.denoise import ForwardCorrection, LikelihoodTargets, NoCorrection
from tacit.labels.learners.retrain import AllRows, ConfidentRows, ConsensusRows


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """Settings of ``LabelPrivateClassifier``, and of the network where it is one; without settings, the default."""

    name: str
    words: str
    settings: dict[str, Any] = field(default_factory=dict)
    network: dict[str, Any] = field(default_factory=dict)
    applies: Callable[[Problem, float], bool] = lambda _problem, _epsilon: True


def _on_network(problem: Problem, _epsilon: float) -> bool:
    return problem.learner in NETWORKS


def _off_network(problem: Problem, _epsilon: float) -> bool:
    return problem.learner not in NETWORKS


def _network_at_one(problem: Problem, epsilon: float) -> bool:
    return problem.set == "mnist" and epsilon == 1


def _never(_problem: Problem, _epsilon: float) -> bool:
    """Measured once, on MNIST, when it was the default for networks too: four times the work of the others."""
    return False


def default_of(problem: Problem) -> str:
    """Return the name of what ``LabelPrivateClassifier`` does unasked: a method without settings."""
    return "forward_loss_consensus" if problem.learner in NETWORKS else "default"


NETWORKS = {"cnn", "cnn_fast", "perceptron"}
PLAIN = {"denoise": NoCorrection(), "rounds": 0}

METHODS = (
    Method(name="rr", words="randomized response, plain", settings=PLAIN),
    Method(name="two_stage", words="2-stage (LP-2ST)", settings={**PLAIN, "mechanism": "staged"}),
    Method(name="full", words="full retraining", settings={"denoise": NoCorrection(), "retrain": AllRows()}),
    Method(
        name="consensus", words="consensus retraining", settings={"denoise": NoCorrection(), "retrain": ConsensusRows()}
    ),
    Method(
        name="confidence",
        words="confidence retraining",
        settings={"denoise": NoCorrection(), "retrain": ConfidentRows()},
    ),
    Method(
        name="forward",
        words="forward correction",
        settings={"denoise": ForwardCorrection(), "rounds": 0},
        applies=_off_network,
    ),
    Method(
        name="forward_loss",
        words="forward correction, in the loss",
        settings={"denoise": LikelihoodTargets(), "rounds": 0},
        applies=_on_network,
    ),
    Method(
        name="forward_loss_consensus",
        words="tacit's default (forward correction in the loss, then consensus)",
        applies=_on_network,
    ),
    Method(
        name="default",
        words="tacit's default (forward correction, then consensus)",
        applies=_off_network,
    ),
    Method(
        name="em_consensus",
        words="forward correction by expectation maximization, then consensus",
        settings={"denoise": ForwardCorrection(), "retrain": ConsensusRows()},
        applies=_never,
    ),
    Method(
        name="symmetric",
        words="symmetric cross-entropy",
        settings=PLAIN,
        network={"loss": SymmetricCrossEntropy()},
        applies=_network_at_one,
    ),
    Method(
        name="generalized",
        words="generalized cross-entropy",
        settings=PLAIN,
        network={"loss": GeneralizedCrossEntropy()},
        applies=_network_at_one,
    ),
    Method(
        name="warm",
        words="consensus retraining from a warm start",
        settings={"denoise": NoCorrection(), "retrain": ConsensusRows(), "warm": True},
        applies=_network_at_one,
    ),
)
CLEAN = Method(name="clean", words="true labels (no privacy)")
