"""``tacit bags learn``."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.bags.coding import read_labels
from tacit.cli.options import AsJson, check_out, show_progress, warn_if_seeded

if TYPE_CHECKING:
    from tacit.bags.learners import Calibration, Evaluation
    from tacit.bags.partition import BagTotals

__all__ = ["learn"]


class ModelName(StrEnum):
    """What is learned for each partition."""

    CROSSES = "crosses"
    TREES = "trees"


def learn(
    release: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a release of bags.")],
    features: Annotated[
        Path, typer.Option(help="The table that the bags were made from; its label column is not read.")
    ],
    test: Annotated[
        Path | None, typer.Option(help="A table with true labels to measure on; those numbers are outside a guarantee.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="The test table's label column. Default: the release's.")] = None,
    model: Annotated[
        ModelName,
        typer.Option(help="What each partition adds: crosses, a weight a bag; trees, which share between like bags."),
    ] = ModelName.CROSSES,
    out: Annotated[Path | None, typer.Option(help="Write the model as a joblib file.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing model file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Train an additive model from label totals and features, and say how good it is.

    The model is a sum of parts, one for each partition of the release. From exact totals it is the model that the
    labels themselves would give. Without --test its totals are compared with the released ones. Random bags teach a
    linear model of all columns.

    Example: tacit bags learn clicks.bags --features clicks.csv --test later.csv --json
    """
    from tacit.bags.partition import read_bags
    from tacit.privacy.errors import InvalidInput

    if label is not None and test is None:
        raise InvalidInput("--label must stand with --test, whose true labels it names")
    released = read_bags(release)
    if out is not None:
        check_out(out, features, written="joblib", force=force)
    with show_progress("training") as report:
        fitted = _fit(released, features, model, report)
    tested = None if test is None else fitted.evaluate(_rows(test), read_labels(released, test, label=label))
    fit = fitted.calibration(released, _rows(features)) if released.partitions else []
    if out is not None:
        _write(fitted, out, force=force)
    if as_json:
        typer.echo(json.dumps(_result(released, tested, fit, out), indent=1))
    else:
        _print(released, tested, fit, out)
    warn_if_seeded(released.seeded)


def _rows(path: Path) -> Any:  # noqa: ANN401
    from tacit.data import load_table

    return load_table(path)


def _fit(release: BagTotals, features: Path, model: ModelName, report: Any) -> Any:  # noqa: ANN401
    from tacit.bags.learners import AdditiveModel, RandomBagModel, Tree

    if release.random is not None:
        return RandomBagModel().fit(release, _rows(features))
    parts = None if model is ModelName.CROSSES else [Tree(part.columns) for part in release.partitions]
    return AdditiveModel(parts=parts).fit(release, _rows(features), progress=report)


def _write(model: object, out: Path, *, force: bool) -> None:
    import joblib

    from tacit.privacy.files import write_atomically

    with write_atomically(out, force=force) as file:
        joblib.dump(model, file)


def _result(release: BagTotals, tested: Evaluation | None, fit: list[Calibration], out: Path | None) -> dict[str, Any]:
    over_classes = release.loss.describe()["name"] in {"log", "cross_entropy"}
    return {
        "rows": release.rows,
        "guarantee": release.guarantee.to_json(),
        "loss": release.loss.describe(),
        "log_loss": tested.loss if tested and over_classes else None,
        "mean_loss": tested and tested.loss,
        "auc": tested and tested.auc,
        "score": tested and tested.score,
        "calibration_error": tested and tested.calibration_error,
        "test_rows": tested and tested.rows,
        "fit": [
            {"columns": list(one.columns), "bags": one.bags, "statistic": one.statistic, "p_value": one.p_value}
            for one in fit
        ],
        "model": out and str(out),
    }


def _print(release: BagTotals, tested: Evaluation | None, fit: list[Calibration], out: Path | None) -> None:
    typer.echo(f"{release}.")
    if tested is not None:
        auc = "" if tested.auc is None else f", AUC {tested.auc:.3f}"
        named = {"log": "log loss", "cross_entropy": "log loss", "squared": "half the squared error"}
        name = named.get(str(release.loss.describe()["name"]), "Poisson loss")
        score = "accuracy" if name == "log loss" else "explained share"
        typer.echo(
            f"On {tested.rows:,} test rows: {name} {tested.loss:.4f}{auc}, {score} {tested.score:.1%}; "
            "these numbers are outside any guarantee."
        )
    for one in fit:
        last = "of the last class " if len(one.released) > 1 else ""
        typer.echo(
            f"  by {', '.join(one.columns)}: predictions {last}add up to {one.predicted[-1]:,.1f}, released "
            f"{one.released[-1]:,.1f}"
        )
    if tested is None:
        typer.echo("With --test FILE, a table with true labels, the model is measured on it.")
    if out is not None:
        typer.echo(f"The model: {out}")
