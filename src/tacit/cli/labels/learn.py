"""``tacit labels learn``."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.labels.options import (
    AsJson,
    ClassList,
    DataSet,
    EstimatorName,
    Force,
    LedgerAt,
    Seed,
    estimator_of,
    open_ledger,
    show_progress,
    warn_if_seeded,
    words_of,
)

if TYPE_CHECKING:
    from tacit.labels import LabelPrivateClassifier, Retrain
    from tacit.labels.learn.table import LearnedTable

__all__ = ["learn"]


class RetrainName(StrEnum):
    """Which rows to train on again."""

    NONE = "none"
    FULL = "full"
    CONSENSUS = "consensus"
    CONFIDENCE = "confidence"


class DenoiseName(StrEnum):
    """How released labels become targets."""

    AUTO = "auto"
    FORWARD = "forward"
    NONE = "none"


def learn(
    table: Annotated[
        Path, typer.Argument(metavar="IN", help="A table with features, and the labels if they are private.")
    ],
    label: Annotated[
        str | None, typer.Option(help="The private column; with a release, the test file's column of true labels.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="The promise for one label. With a release: its own.")] = None,
    release: Annotated[
        Path | None,
        typer.Option(
            help="Labels released before, in the order of IN's rows. Without it and --label, IN is a release."
        ),
    ] = None,
    stages: Annotated[
        int, typer.Option(help="2 or more: labels of earlier parts teach the prior of later ones. 1: all at once.")
    ] = 1,
    retrain: Annotated[
        RetrainName,
        typer.Option(help="Train again on predictions: on all rows, where they agree with the label, or where sure."),
    ] = RetrainName.CONSENSUS,
    rounds: Annotated[int, typer.Option(help="How many times to retrain.")] = 1,
    denoise: Annotated[
        DenoiseName,
        typer.Option(help="forward: take the noise into account, at several fits. auto: forward, but none for trees."),
    ] = DenoiseName.AUTO,
    estimator: Annotated[
        EstimatorName, typer.Option(help="logistic: logistic regression. trees: gradient boosted trees, for many rows.")
    ] = EstimatorName.LOGISTIC,
    classes: ClassList = "",
    features: Annotated[
        str, typer.Option(metavar="COL,...", help="The public columns to learn from. Default: all but the label.")
    ] = "",
    test: Annotated[
        Path | None,
        typer.Option(help="A table with true labels to measure accuracy on; that number is outside the guarantee."),
    ] = None,
    hold_out: Annotated[
        float, typer.Option(help="Without --test: the share of rows whose released labels judge the model.")
    ] = 0.2,
    compare: Annotated[
        bool, typer.Option("--compare", help="With --test: also train on the true labels, to see what privacy costs.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write the model, with its feature encoder, as a joblib file.")
    ] = None,
    force: Force = False,
    ledger: LedgerAt = None,
    dataset: DataSet = None,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Train a classifier on privately released labels, and say how good it is.

    Labels are randomized once, before the estimator sees anything. Without --test, part of the rows is held out and
    judged by released labels: an unbiased estimate inside the guarantee.

    Example: tacit labels learn visits.csv --label ill --epsilon 1 --test checked.csv --json

    Example: tacit labels learn visits.release.parquet --estimator trees --out model.joblib
    """
    from tacit.data import load_table
    from tacit.labels.learn.table import learn_table
    from tacit.labels.protect.payment import check_writable
    from tacit.privacy.release import read_release

    private = _private_column(label, epsilon, release, test)
    given = private or read_release(release or table)
    rows = load_table(table)
    learner = _learner(estimator, epsilon, stages, retrain, rounds, denoise, seed)
    if private:
        _declare(learner, classes, rows, private)
        learner.set_params(ledger=open_ledger(ledger, dataset=dataset), dataset=dataset)
    if out is not None:
        check_writable(out, force=force)
    with show_progress("fits") as report:
        learned = learn_table(
            rows,
            given,
            learner=learner,
            features=words_of(features) or None,
            test=None if test is None else load_table(test),
            test_label=label,
            hold_out=hold_out,
            compare=compare,
            progress=lambda begun, fits: report(begun - 1, fits),
        )
    if out is not None:
        _write_model(learned, out, force=force)
    if as_json:
        typer.echo(json.dumps({**learned.to_json(), "model": out and str(out)}, indent=1))
    else:
        _print(learned, out)
    warn_if_seeded(learned.model.release_.seeded)


def _private_column(label: str | None, epsilon: float | None, release: Path | None, test: Path | None) -> str | None:
    """The column to randomize, or None where the labels were released before."""
    from tacit.privacy.errors import InvalidInput

    if release is not None and epsilon is not None:
        raise InvalidInput("--epsilon must not stand with --release, which says its own guarantee")
    forgotten = label is not None and epsilon is None and release is None and test is None
    if forgotten or (label is None and epsilon is not None):
        raise InvalidInput("--label and --epsilon must stand together; with neither, IN must be a release file")
    return None if epsilon is None else label


def _learner(
    estimator: EstimatorName,
    epsilon: float | None,
    stages: int,
    retrain: RetrainName,
    rounds: int,
    denoise: DenoiseName,
    seed: int | None,
) -> LabelPrivateClassifier:
    from tacit.labels import (
        AsGiven,
        Confidence,
        Consensus,
        Forward,
        Full,
        LabelPrivateClassifier,
        RandomizedResponse,
    )

    choices: dict[RetrainName, Retrain] = {
        RetrainName.FULL: Full(),
        RetrainName.CONSENSUS: Consensus(),
        RetrainName.CONFIDENCE: Confidence(),
    }
    as_given = denoise is DenoiseName.NONE or (denoise is DenoiseName.AUTO and estimator is EstimatorName.TREES)
    return LabelPrivateClassifier(
        estimator_of(estimator),
        mechanism=None if epsilon is None else RandomizedResponse(epsilon=epsilon),
        stages=stages,
        denoise=AsGiven() if as_given else Forward(),
        retrain=choices.get(retrain),
        rounds=0 if retrain is RetrainName.NONE else rounds,
        random_state=seed,
    )


def _declare(learner: LabelPrivateClassifier, classes: str, rows: Any, label: str) -> None:  # noqa: ANN401
    from tacit.data.names import check_present
    from tacit.labels.protect.source import TableSource, declare_classes

    check_present(label, rows.columns, argument="--label")
    if classes:
        found = declare_classes(words_of(classes), source=TableSource(table=rows), label=label)
        learner.set_params(classes=sorted(found.values))


def _write_model(learned: LearnedTable, out: Path, *, force: bool) -> None:
    import joblib

    from tacit.privacy.files import write_atomically

    with write_atomically(out, force=force) as file:
        joblib.dump({"model": learned.model, "encoder": learned.encoder}, file)


def _print(learned: LearnedTable, out: Path | None) -> None:
    typer.echo(f"{learned.rows:,} rows, {learned.guarantee}.")
    if learned.accuracy is not None:
        typer.echo(
            f"Accuracy {learned.accuracy:.1%} on the true labels of {learned.judged_rows:,} test rows, "
            "which is outside the guarantee."
        )
    if learned.clean_accuracy is not None:
        typer.echo(f"Trained on the true labels: {learned.clean_accuracy:.1%}.")
    if learned.estimate is not None:
        typer.echo(f"Accuracy {learned.estimate}, estimated from {learned.judged_rows:,} released labels.")
    typer.echo(f"Predictions agree with {learned.consensus_fraction:.1%} of the released labels.")
    if out is not None:
        typer.echo(f"The model: {out}")
