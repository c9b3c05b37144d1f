"""``tacit features learn``."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.options import AsJson, warn_if_seeded

__all__ = ["learn"]


class RuleName(StrEnum):
    """Which of Fisher's rules."""

    INDEPENDENCE = "independence"
    FULL = "full"


def learn(
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="A release of features: rows or class totals.")],
    test: Annotated[
        Path | None, typer.Option(help="A table of clean rows with true labels, to measure accuracy.")
    ] = None,
    label: Annotated[str, typer.Option(help="The label column of the test table.")] = "label",
    rule: Annotated[
        RuleName, typer.Option(help="independence: variances alone. full: the whole covariance; needs rows.")
    ] = RuleName.INDEPENDENCE,
    as_json: AsJson = False,
) -> None:
    """Learn Fisher's classifier from a release; the noise that the release names is taken out.

    Learning costs nothing more. The accuracy on a test table is outside the guarantee.

    Example: tacit features learn visits.features.parquet --test later.csv --label ill
    """
    from tacit.features import Full, Independence, learn_release
    from tacit.privacy.release import read_release

    released = read_release(release)
    model = learn_release(released, rule=Full() if rule is RuleName.FULL else Independence())
    names = [str(name) for name in released.mechanism["features"]]
    accuracy = None if test is None else _accuracy(model, test, label, names)
    if as_json:
        result = {"features": names, "guarantee": released.guarantee.to_json(), "rule": str(rule), "accuracy": accuracy}
        typer.echo(json.dumps(result, indent=1))
    else:
        typer.echo(f"Learned from {released}.")
        typer.echo(f"Features: {', '.join(names)}.")
        if accuracy is not None:
            typer.echo(f"Accuracy {accuracy:.4f} on the clean rows of {test}; that number is outside the guarantee.")
    warn_if_seeded(released.seeded)


def _accuracy(model: Any, test: Path, label: str, names: list[str]) -> float:  # noqa: ANN401
    import numpy as np

    from tacit.data import load_table, read_rows
    from tacit.data.matrix import numeric_matrix
    from tacit.data.names import check_present
    from tacit.privacy.errors import InvalidInput

    if label in names:
        raise InvalidInput(f"--label must name the label column, got {label!r}, which is a released feature")
    table = load_table(test)
    for name in (*names, label):
        check_present(name, table.columns, argument=f"the test table {test.name}")
    rows = read_rows(table, columns=[*names, label])
    values, truth = numeric_matrix(rows, columns=names), rows[label].to_pylist()
    if not np.isfinite(values).all():
        raise InvalidInput(f"--test must hold finite features, got missing, NaN or infinite ones in {test.name}")
    unknown = [value for value in truth if value not in model.classes_.tolist()]
    if unknown:
        raise InvalidInput(f"--test must hold the release's classes, {model.classes_.tolist()}, got {unknown[0]!r}")
    return float((model.predict(values) == np.asarray(truth)).mean())
