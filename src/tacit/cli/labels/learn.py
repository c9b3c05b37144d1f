"""``tacit labels learn``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tacit.cli.labels.learn_options import (
    Compare,
    DenoiseName,
    DenoiseOption,
    EpsilonOption,
    EstimatorOption,
    Features,
    HoldOut,
    LabelOption,
    ModelOut,
    ReleaseFile,
    RetrainName,
    RetrainOption,
    Rounds,
    Stages,
    Table,
    TestFile,
    learner_of,
)
from tacit.cli.options import (
    AsJson,
    ClassList,
    DataSet,
    EstimatorName,
    Force,
    LedgerAt,
    RowsPerPerson,
    Seed,
    assumed,
    check_out,
    open_ledger,
    show_progress,
    warn_if_seeded,
    words_of,
)

if TYPE_CHECKING:
    from tacit.labels.learners.classifier import LabelPrivateClassifier
    from tacit.labels.learners.table import LearnedTable
    from tacit.privacy.release import Release

__all__ = ["learn"]


def learn(
    table: Table,
    label: LabelOption = None,
    epsilon: EpsilonOption = None,
    release: ReleaseFile = None,
    stages: Stages = 1,
    retrain: RetrainOption = RetrainName.AUTO,
    rounds: Rounds = 1,
    denoise: DenoiseOption = DenoiseName.AUTO,
    estimator: EstimatorOption = EstimatorName.LOGISTIC,
    classes: ClassList = "",
    features: Features = "",
    test: TestFile = None,
    hold_out: HoldOut = 0.2,
    compare: Compare = False,
    rows_per_person: RowsPerPerson = 1,
    out: ModelOut = None,
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
    learner = learner_of(
        estimator=estimator,
        epsilon=epsilon,
        stages=stages,
        retrain=retrain,
        rounds=rounds,
        denoise=denoise,
        rows_per_person=rows_per_person,
        seed=seed,
    )
    private = _private_column(label, epsilon, release, test)
    if private:
        _declare(learner, classes, table, private)
        learner.set_params(ledger=open_ledger(ledger, dataset=dataset), dataset=dataset)
    if out is not None:
        check_out(out, table, written="joblib", force=force)
    asked = {"features": words_of(features) or None, "test_label": label, "hold_out": hold_out, "compare": compare}
    learned = _learn(learner, table, private, release, test, asked)
    _write_model(learned, out, force=force)
    if as_json:
        typer.echo(json.dumps({**learned.to_json(), "model": out and str(out)}, indent=1))
    else:
        _print(learned, out)
    warn_if_seeded(learned.model.release_.seeded)


def _learn(
    learner: LabelPrivateClassifier,
    table: Path,
    private: str | None,
    release: Path | None,
    test: Path | None,
    asked: dict[str, Any],
) -> LearnedTable:
    """Read the files and train."""
    from tacit.data import load_table
    from tacit.labels.learners.table import learn_table
    from tacit.labels.releases.source import LABEL
    from tacit.privacy.errors import InvalidInput

    given = private or _read_release(release, table)
    if release is None and not isinstance(given, str) and set(getattr(given.value, "column_names", ())) == {LABEL}:
        raise InvalidInput(f"IN must hold features beside the labels, got none in {table}: give it by --release")
    judge = None if test is None else load_table(test)
    with show_progress("fits") as report:
        return learn_table(
            load_table(table),
            given,
            learner=learner,
            test=judge,
            progress=lambda begun, fits: report(begun - 1, fits),
            **asked,
        )


def _read_release(release: Path | None, table: Path) -> Release:
    from tacit.privacy.errors import InvalidInput, InvalidRelease
    from tacit.privacy.release import read_release

    try:
        return read_release(release or table)
    except InvalidRelease as error:
        if release is not None:
            raise
        raise InvalidInput(f"{error}; where labels are private, name them by --label and --epsilon") from None


def _private_column(label: str | None, epsilon: float | None, release: Path | None, test: Path | None) -> str | None:
    """The column to randomize, or None where the labels were released before."""
    from tacit.privacy.errors import InvalidInput

    if release is not None and epsilon is not None:
        raise InvalidInput("--epsilon must not stand with --release, which says its own guarantee")
    forgotten = label is not None and epsilon is None and release is None and test is None
    if forgotten or (label is None and epsilon is not None):
        raise InvalidInput("--label and --epsilon must stand together; with neither, IN must be a release file")
    return None if epsilon is None else label


def _declare(learner: LabelPrivateClassifier, classes: str, table: Path, label: str) -> None:
    from tacit.data import load_table
    from tacit.data.names import check_present
    from tacit.labels.releases.source import TableSource, declare_classes

    rows = load_table(table)
    check_present(label, rows.columns, argument="--label")
    if classes:
        found = declare_classes(words_of(classes), source=TableSource(table=rows), label=label)
        learner.set_params(classes=sorted(found.values))


def _write_model(learned: LearnedTable, out: Path | None, *, force: bool) -> None:
    import joblib

    from tacit.privacy.files import write_atomically

    if out is None:
        return
    with write_atomically(out, force=force) as file:
        joblib.dump({"model": learned.model, "encoder": learned.encoder}, file)


def _print(learned: LearnedTable, out: Path | None) -> None:
    typer.echo("\n".join([f"{learned.rows:,} rows, {learned.guarantee}.", *assumed(learned.guarantee)]))
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
    if learned.model.receipt_ is not None:
        typer.echo(f"{learned.model.receipt_}.")
    if out is not None:
        typer.echo(f"The model: {out}")
