"""``tacit features protect``."""

from __future__ import annotations

import json
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.options import (
    AsJson,
    Force,
    LedgerAt,
    Seed,
    open_ledger,
    rng_of,
    show_progress,
    warn_if_seeded,
    words_of,
)

if TYPE_CHECKING:
    from tacit.features import Box, FeaturePlan
    from tacit.features.protect.survey import FeatureTable
    from tacit.features.theory import BudgetSplit

__all__ = ["protect"]


class ScoreName(StrEnum):
    """What features are chosen by."""

    DISTANCE = "distance"
    T = "t"


def protect(
    table: Annotated[Path, typer.Argument(metavar="IN", help="A CSV, TSV, Parquet or Arrow file of numeric features.")],
    label: Annotated[str, typer.Option(help="The private label column.")],
    keep: Annotated[int, typer.Option(help="How many features leave.")],
    epsilon: Annotated[float, typer.Option(help="The promise for one record, its label included.")],
    delta: Annotated[float, typer.Option(help="The delta of the promise, in (0, 1); well below 1/rows.")],
    bound: Annotated[
        float | None,
        typer.Option(help="Values are clipped to [-bound, bound]: a public number, not read off the data."),
    ] = None,
    lower: Annotated[float | None, typer.Option(help="In place of --bound: the least value, public.")] = None,
    upper: Annotated[float | None, typer.Option(help="In place of --bound: the largest value, public.")] = None,
    totals: Annotated[
        bool,
        typer.Option("--totals", help="Release class totals, JSON, in place of rows: far less noise for a classifier."),
    ] = False,
    label_epsilon: Annotated[
        float | None, typer.Option(help="The labels' part of epsilon. Default: as theory divides it.")
    ] = None,
    selection_epsilon: Annotated[
        float | None, typer.Option(help="The part that chooses features. Default: as theory divides it.")
    ] = None,
    score: Annotated[
        ScoreName, typer.Option(help="distance: of class means. t: the same in standard deviations.")
    ] = ScoreName.DISTANCE,
    features: Annotated[str, typer.Option(metavar="COL,...", help="Columns to choose from. Default: all others.")] = "",
    classes: Annotated[
        str, typer.Option(metavar="A,B,...", help="The public class list. Default: the classes that occur.")
    ] = "",
    class_rows: Annotated[
        str,
        typer.Option(metavar="N,M,...", help="Public class sizes, in the order of the classes. Default: noised ones."),
    ] = "",
    out: Annotated[
        Path | None, typer.Option(help="The release file. Default: IN's name with .features.parquet or .json, here.")
    ] = None,
    force: Force = False,
    ledger: LedgerAt = None,
    dataset: Annotated[
        str | None, typer.Option(help="The ledger's data set to charge. Default: the one it knows this table as.")
    ] = None,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Choose a few features and release them under noise; the promise covers all that leaves.

    Epsilon is divided between class sizes, the choice of features, the features and the labels. The rest of the table
    does not leave.

    Example: tacit features protect visits.csv --label ill --keep 5 --bound 3 --epsilon 4 --delta 1e-6

    Example: tacit features protect visits.csv --label ill --keep 5 --bound 3 --epsilon 1 --delta 1e-6 --totals
    """
    from tacit.data import load_table
    from tacit.features import protect_features
    from tacit.features.protect.survey import FeatureTable

    paying = open_ledger(ledger, dataset=dataset)
    source = FeatureTable.of(
        load_table(table), label=label, features=words_of(features) or None, classes=words_of(classes) or None
    )
    sizes = [int(word) for word in words_of(class_rows)]
    split = _split(source, epsilon, delta, keep, totals, label_epsilon, selection_epsilon)
    plan = _plan(split, keep=keep, delta=delta, box=_box(bound, lower, upper), totals=totals, score=score, sizes=sizes)
    with show_progress("features") as report:
        made = protect_features(
            source.table,
            out or Path(f"{table.stem}.features.{'json' if totals else 'parquet'}"),
            label=label,
            plan=plan,
            features=source.features,
            classes=source.classes.values if classes else None,
            ledger=paying,
            dataset=dataset,
            rng=rng_of(seed),
            force=force,
            progress=report,
        )
    if as_json:
        typer.echo(json.dumps(made.to_json(), indent=1))
    else:
        typer.echo(f"{made}.")
        typer.echo(f"Features: {', '.join(made.features)}.")
        typer.echo(_divided(split))
        if made.receipt:
            typer.echo(f"{made.receipt}.")
    warn_if_seeded(made.seeded)


def _box(bound: float | None, lower: float | None, upper: float | None) -> Box:
    from tacit.features import Box
    from tacit.privacy.errors import InvalidInput

    if bound is not None and lower is None and upper is None:
        return Box.symmetric(bound)
    if bound is None and lower is not None and upper is not None:
        return Box(lower=lower, upper=upper)
    raise InvalidInput("give --bound, or --lower and --upper: noise needs public bounds of the values")


def _split(
    source: FeatureTable,
    epsilon: float,
    delta: float,
    keep: int,
    totals: bool,
    label_epsilon: float | None,
    selection_epsilon: float | None,
) -> BudgetSplit:
    from fractions import Fraction

    from tacit.features.theory import split_budget
    from tacit.privacy.errors import InvalidInput
    from tacit.privacy.rounding import check_epsilon, exact

    count = len(source.features)
    if keep > count:
        raise InvalidInput(f"--keep must be at most the number of features, {count}, got {keep}")
    if totals and label_epsilon is not None:
        raise InvalidInput("--label-epsilon must not stand with --totals: labels leave through the totals alone")
    split = split_budget(
        epsilon,
        delta=delta,
        features=count,
        keep=keep,
        rows=int(source.table.count().execute()),
        classes=len(source.classes),
        released_rows=not totals,
        label_epsilon=label_epsilon,
    )
    if selection_epsilon is None or keep == count:
        return split
    chosen = exact(check_epsilon(selection_epsilon, name="--selection-epsilon"))
    left = exact(epsilon) - exact(split.class_rows) - exact(split.labels) - chosen
    if left <= Fraction(0):
        raise InvalidInput(
            f"--selection-epsilon must leave something of epsilon {epsilon!r}, got {selection_epsilon!r}"
        )
    return replace(split, selection=float(chosen), release=float(left))


def _plan(
    split: BudgetSplit, *, keep: int, delta: float, box: Box, totals: bool, score: ScoreName, sizes: list[int]
) -> FeaturePlan:
    from tacit.features import (
        ClassTotals,
        Distance,
        FeaturePlan,
        NoisedClassRows,
        NoisedRows,
        PrivateSelection,
        PublicClassRows,
        TStatistic,
    )
    from tacit.labels import RandomizedResponse

    release = (ClassTotals if totals else NoisedRows)(epsilon=split.release, delta=delta)
    plan = FeaturePlan(box=box, release=release, labels=None if totals else RandomizedResponse(epsilon=split.labels))
    if not split.selection:  # all features leave
        return plan
    by = Distance() if score is ScoreName.DISTANCE else TStatistic()
    rows = PublicClassRows(rows=tuple(sizes)) if sizes else NoisedClassRows(epsilon=split.class_rows)
    return replace(plan, selection=PrivateSelection(epsilon=split.selection, keep=keep, score=by), class_rows=rows)


def _divided(split: BudgetSplit) -> str:
    parts = {
        "class sizes": split.class_rows,
        "choice": split.selection,
        "features": split.release,
        "labels": split.labels,
    }
    return "Epsilon: " + ", ".join(f"{name} {part:.4g}" for name, part in parts.items() if part) + "."
