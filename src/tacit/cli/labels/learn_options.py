"""The options of ``tacit labels learn``, and the learner they describe."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.options import EstimatorName, estimator_of

if TYPE_CHECKING:
    from tacit.labels.fitting.denoise import Denoise
    from tacit.labels.learners.classifier import LabelPrivateClassifier
    from tacit.labels.learners.retrain import Retrain

__all__ = [
    "Compare",
    "DenoiseName",
    "DenoiseOption",
    "EpsilonOption",
    "EstimatorOption",
    "Features",
    "HoldOut",
    "LabelOption",
    "ModelOut",
    "ReleaseFile",
    "RetrainName",
    "RetrainOption",
    "Rounds",
    "Stages",
    "Table",
    "TestFile",
    "learner_of",
]


class RetrainName(StrEnum):
    """Which rows to train on again."""

    AUTO = "auto"
    NONE = "none"
    FULL = "full"
    CONSENSUS = "consensus"
    CONFIDENCE = "confidence"


class DenoiseName(StrEnum):
    """How released labels become targets."""

    AUTO = "auto"
    FORWARD = "forward"
    BACKWARD = "backward"
    NEIGHBOURS = "neighbours"
    NONE = "none"


Table = Annotated[Path, typer.Argument(metavar="IN", help="A table with features, and the labels if they are private.")]
LabelOption = Annotated[
    str | None, typer.Option(help="The private column; with a release, the test file's column of true labels.")
]
EpsilonOption = Annotated[float | None, typer.Option(help="The promise for one label. With a release: its own.")]
ReleaseFile = Annotated[
    Path | None,
    typer.Option(help="Labels released before, in the order of IN's rows. Without it and --label, IN is a release."),
]
Stages = Annotated[
    int, typer.Option(help="2 or more: labels of earlier parts teach the prior of later ones. 1: all at once.")
]
RetrainOption = Annotated[
    RetrainName,
    typer.Option(
        help="Train again on predictions: on all rows (full), where they agree with the label (consensus), or where "
        "sure (confidence). auto: consensus, unless predictions forget half of the classes, as with rare labels."
    ),
]
Rounds = Annotated[int, typer.Option(help="How many times to retrain.")]
DenoiseOption = Annotated[
    DenoiseName,
    typer.Option(
        help="forward: take the noise into account, at several fits. backward: without bias, by weights that can be "
        "negative. neighbours: by votes of near rows, for much noise. none: labels as released. auto: forward, but "
        "none for trees."
    ),
]
EstimatorOption = Annotated[
    EstimatorName, typer.Option(help="logistic: logistic regression. trees: gradient boosted trees, for many rows.")
]
Features = Annotated[
    str, typer.Option(metavar="COL,...", help="The public columns to learn from. Default: all but the label.")
]
TestFile = Annotated[
    Path | None,
    typer.Option(help="A table with true labels to measure accuracy on; that number is outside the guarantee."),
]
HoldOut = Annotated[float, typer.Option(help="Without --test: the share of rows whose released labels judge.")]
Compare = Annotated[
    bool, typer.Option("--compare", help="With --test: also train on the true labels, to see what privacy costs.")
]
ModelOut = Annotated[Path | None, typer.Option(help="Write the model, with its feature encoder, as a joblib file.")]


def learner_of(
    *,
    estimator: EstimatorName,
    epsilon: float | None,
    stages: int,
    retrain: RetrainName,
    rounds: int,
    denoise: DenoiseName,
    rows_per_person: int,
    seed: int | None,
) -> LabelPrivateClassifier:
    """Return the learner that the options describe, without classes or a ledger."""
    from tacit.labels.learners.classifier import LabelPrivateClassifier
    from tacit.labels.mechanisms.response import RandomizedResponse

    return LabelPrivateClassifier(
        estimator_of(estimator),
        mechanism=None if epsilon is None else RandomizedResponse(epsilon=epsilon),
        stages=stages,
        denoise=_denoise(denoise, estimator),
        retrain=_retrain(retrain),
        rounds=0 if retrain is RetrainName.NONE else rounds,
        rows_per_person=rows_per_person,
        random_state=seed,
    )


def _denoise(name: DenoiseName, estimator: EstimatorName) -> Denoise:
    from tacit.labels.fitting.denoise import AsGiven, Forward
    from tacit.labels.learners.backward import Backward
    from tacit.labels.learners.neighbours import Neighbours

    if name is DenoiseName.AUTO:
        name = DenoiseName.NONE if estimator is EstimatorName.TREES else DenoiseName.FORWARD
    choices: dict[DenoiseName, Denoise] = {
        DenoiseName.FORWARD: Forward(),
        DenoiseName.BACKWARD: Backward(),
        DenoiseName.NEIGHBOURS: Neighbours(),
    }
    return choices.get(name, AsGiven())


def _retrain(name: RetrainName) -> Retrain | None:
    from tacit.labels.learners.retrain import Confidence, Consensus, Full

    choices: dict[RetrainName, Retrain] = {
        RetrainName.FULL: Full(),
        RetrainName.CONSENSUS: Consensus(),
        RetrainName.CONFIDENCE: Confidence(),
    }
    return choices.get(name)
